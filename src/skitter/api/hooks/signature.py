"""How a receiver knows that a message is ours, and of now.

The header holds the time of sending in seconds and the HMAC-SHA256, in hexadecimal, of that time,
a full stop and the body: ``t=1750000000,v1=5257a8…``. The time is signed with the body, so that an
old message cannot be sent again as a new one.
"""

import hashlib
import hmac
import secrets
from typing import Final

HEADER: Final = "Skitter-Signature"
SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Make a secret for a webhook."""
    return secrets.token_urlsafe(SECRET_BYTES)


def sign(secret: str, at_s: int, body: bytes) -> str:
    """Return the value of the header for a message sent at that time."""
    return f"t={at_s},v1={_digest(secret, at_s, body)}"


def is_signed(secret: str, header: str, body: bytes, now_s: int, tolerance_s: int = 300) -> bool:
    """Tell whether a header was made for this body with this secret, not too long ago."""
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    at = parts.get("t", "")
    if not (at.isascii() and at.isdigit()) or abs(now_s - int(at)) > tolerance_s:
        return False
    return hmac.compare_digest(parts.get("v1", ""), _digest(secret, int(at), body))


def _digest(secret: str, at_s: int, body: bytes) -> str:
    return hmac.new(secret.encode(), b"%d.%b" % (at_s, body), hashlib.sha256).hexdigest()
