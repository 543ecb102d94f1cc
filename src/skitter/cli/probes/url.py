"""``skitter probe url``: what Skitter makes of one URL."""

from skitter.errors import ConfigError, InvalidUrl
from skitter.url.canonical import canonicalize
from skitter.url.domain import registered_domain
from skitter.url.host import host_key, host_name
from skitter.url.parse import parse


def answer(question: dict[str, object]) -> dict[str, object]:
    """Parse ``input``, against ``base`` when there is one.

    ``href`` is null when the input is no URL; the other three also when it is not http or https.
    """
    text = question.get("input")
    if not isinstance(text, str):
        raise ConfigError(f"input: {text!r}; wanted a string")
    base = question.get("base")
    if not isinstance(base, str | None):
        raise ConfigError(f"base: {base!r}; wanted a string or null")
    try:
        href = parse(text, base)
    except InvalidUrl:
        return {"href": None, "canonical": None, "host": None, "domain": None}
    if not href.startswith(("http://", "https://")):
        return {"href": href, "canonical": None, "host": None, "domain": None}
    host = host_key(href)
    return {
        "href": href,
        "canonical": canonicalize(href),
        "host": host,
        "domain": registered_domain(host_name(host)),
    }
