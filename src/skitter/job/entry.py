"""What may start a crawl: an http or https URL without credentials; a host name alone will do."""

import re

from skitter.errors import InvalidUrl, UnsupportedScheme
from skitter.url.canonical import CanonicalRules
from skitter.url.fingerprint import Fingerprinter
from skitter.url.host import host_key, host_name
from skitter.url.normalise import Normaliser

_WANTED = "wanted an http or https URL"
_USERINFO = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:[/\\]+[^/\\?#]*@")
_CREDENTIALS = re.compile(r"(?<=[/\\][/\\])[^/\\?#\s\"]*@")
# Entries are only read here; the fingerprint, whatever its key, is not looked at.
_READER = Normaliser(CanonicalRules(), Fingerprinter(bytes(16)))


def entry_url(text: str) -> str:
    """Return ``text`` as a serialised URL without fragment, or raise a ``UrlError``.

    "example.com/x" means "https://example.com/x". The error never repeats a password.
    """
    if _USERINFO.match(text):
        raise InvalidUrl(
            without_credentials(text), "has a user name or password; send them in a header instead"
        )
    try:
        return _READER.absolute(text).url
    except UnsupportedScheme as error:
        raise UnsupportedScheme(text, _WANTED) from error
    except InvalidUrl as error:
        # A single word or a path is the commonest slip, and "relative" explains it to nobody.
        why = "" if "relative" in error.why else f" ({error.why})"
        raise InvalidUrl(text, _WANTED + why) from error


def entry_host(entry: str) -> str:
    """Return the host of a checked entry, without port or IPv6 brackets."""
    return host_name(host_key(entry)).strip("[]")


def without_credentials(text: str) -> str:
    """Return ``text`` with the user name and password of every URL in it blanked out."""
    return _CREDENTIALS.sub("***@", text)
