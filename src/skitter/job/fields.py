"""The kinds of value a job is made of: each says what it takes, and refuses the rest in words.

Strictness is the models' affair; what is declared here is the range and the form.
"""

import re
from ipaddress import ip_network
from typing import Annotated

import re2
from pydantic import AfterValidator, Field, PlainValidator

from skitter.errors import UrlError
from skitter.job.cookies import has_controls
from skitter.job.entry import entry_url
from skitter.job.keywords import fold_keyword
from skitter.job.rate import Rate as RequestRate
from skitter.job.secrets import ENV_PREFIX, FILE_PREFIX

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/(\*|[a-z0-9][a-z0-9!#$&^_.+-]*)|\*/\*")
_ENV_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade"})

_SUFFIX = re.compile(r"\.?[A-Za-z0-9_+-]{1,16}")
_DOMAIN = re.compile(r"[\w-]+(\.[\w-]+)*")
_PARAMETER = re.compile(r"[^\s&=*?#]+\*?")
_CONTACT = re.compile(r"https?://[!-'*-~]+|mailto:[!-'*-~]+@[!-'*-~]+")
_WANTED_COOKIES = 'wanted a table of names and values, or "file:PATH" with a cookies.txt'


def _job_id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise ValueError(
            "wanted up to 128 letters, digits, dots, dashes and underscores, "
            "beginning with a letter or digit"
        )
    return value


def _entry(value: str) -> str:
    try:
        return entry_url(value)
    except UrlError as error:
        raise ValueError(error.why) from error


def _pattern(value: str) -> str:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(value, options)
    except re2.error as error:
        why = error.args[0]
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        around = "; RE2 has no look-ahead and no look-behind" if _LOOKS_AROUND.search(value) else ""
        raise ValueError(f"not an RE2 regular expression: {text}{around}") from error
    return value


def _agent(value: str) -> str:
    if not value.strip() or not value.isascii() or not value.isprintable():
        raise ValueError("wanted printable ASCII text")
    return value.strip()


def _media_type(value: str) -> str:
    lowered = value.strip().lower()
    if not _MEDIA_TYPE.fullmatch(lowered):
        raise ValueError('wanted a media type such as "text/html" or "text/*"')
    return lowered


def _header_name(value: str) -> str:
    if not _TOKEN.fullmatch(value):
        raise ValueError("not a header name")
    if value.lower() in _OWN_HEADERS:
        raise ValueError("this header is set by the crawler itself")
    if value.lower() == "user-agent":
        raise ValueError("wanted in http.agent, not among the headers")
    return value


def _header_value(value: str) -> str:
    if has_controls(value):
        raise ValueError("a header value cannot hold control characters")
    if value.startswith(ENV_PREFIX) and not _ENV_REFERENCE.fullmatch(value):
        raise ValueError('wanted "env:NAME" with the name of an environment variable')
    if value == FILE_PREFIX:
        raise ValueError('wanted "file:PATH" with the name of a file')
    return value


def _cookies(value: object) -> str | dict[str, str]:
    """Check a table of cookies, or the name of a file with them; says no value."""
    if isinstance(value, str) and value.startswith(FILE_PREFIX):
        return _header_value(value)
    if not isinstance(value, dict):
        raise ValueError(_WANTED_COOKIES)  # noqa: TRY004  pydantic turns this one into words
    for name, said in value.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{name}: not a cookie name")
        if not isinstance(said, str):
            raise ValueError(f"{name}: wanted a string")  # noqa: TRY004
        try:
            _header_value(said)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if ";" in said and not said.startswith(FILE_PREFIX):
            raise ValueError(f"{name}: holds a semicolon, which ends a cookie")
    return dict(value)


def _contact(value: str) -> str:
    if not _CONTACT.fullmatch(value):
        raise ValueError('wanted "https://…" or "mailto:…", without spaces or brackets')
    return value


def _suffix(value: str) -> str:
    if not _SUFFIX.fullmatch(value):
        raise ValueError('wanted a file name suffix such as "pdf"')
    return value.lower().lstrip(".")


def _parameter(value: str) -> str:
    if not _PARAMETER.fullmatch(value):
        raise ValueError('wanted the name of a query parameter, or its beginning and "*"')
    return value


def _domain(value: str) -> str:
    name = value.strip().lower().strip(".")
    if not _DOMAIN.fullmatch(name):
        raise ValueError('wanted a domain such as "example.com"')
    return name


def _window(value: str) -> str:
    return str(RequestRate.parse(value))


def _network(value: str) -> str:
    try:
        return str(ip_network(value.strip(), strict=False))
    except ValueError:
        raise ValueError('wanted addresses such as "104.16.0.0/13" or "2606:4700::/32"') from None


JobId = Annotated[str, AfterValidator(_job_id)]
EntryUrl = Annotated[str, AfterValidator(_entry)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Agent = Annotated[str, AfterValidator(_agent)]
MediaType = Annotated[str, AfterValidator(_media_type)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]
Cookies = Annotated[
    dict[str, str] | str,
    PlainValidator(_cookies, json_schema_input_type=dict[str, str] | str),
]
Contact = Annotated[str, AfterValidator(_contact)]
Agents = Annotated[tuple[Agent, ...], Field(strict=False, max_length=1000)]

Depth = Annotated[int, Field(ge=0)]
Priority = Annotated[int, Field(ge=0, le=9)]
Pages = Annotated[int, Field(ge=1)]
DelayS = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
PerHost = Annotated[int, Field(ge=1, le=1_000)]
PerAddress = Annotated[int, Field(ge=0, le=1_000)]
TimeoutS = Annotated[float, Field(gt=0, le=3_600, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=1)]
Window = Annotated[str, AfterValidator(_window)]
RunSeconds = Annotated[float, Field(gt=0, le=366 * 86_400, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, lt=0.5, allow_inf_nan=False)]

# TOML and JSON have lists and strings where the models have tuples and enums; the elements stay
# strict.
Patterns = Annotated[tuple[Pattern, ...], Field(strict=False)]
EntryUrls = Annotated[tuple[EntryUrl, ...], Field(strict=False)]
Networks = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], Field(strict=False)]
Suffixes = Annotated[tuple[Annotated[str, AfterValidator(_suffix)], ...], Field(strict=False)]
Parameters = Annotated[tuple[Annotated[str, AfterValidator(_parameter)], ...], Field(strict=False)]
Keywords = Annotated[
    tuple[Annotated[str, AfterValidator(fold_keyword)], ...], Field(strict=False, max_length=1000)
]
Domains = Annotated[tuple[Annotated[str, AfterValidator(_domain)], ...], Field(strict=False)]
MediaTypes = Annotated[tuple[MediaType, ...], Field(strict=False)]
