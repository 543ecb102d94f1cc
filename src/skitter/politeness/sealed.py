"""Bytes for the store: a version, a checksum, a payload. Damage is noticed, never believed."""

import struct
import zlib

_HEAD = struct.Struct("<BI")


def seal(version: int, payload: bytes) -> bytes:
    """Put ``payload`` under a version from 0 to 255 and a checksum."""
    return _HEAD.pack(version, zlib.crc32(payload)) + payload


def unseal(version: int, data: bytes) -> bytes | None:
    """Return the payload, or None when ``data`` is damaged or of another version."""
    if len(data) < _HEAD.size:
        return None
    found, checksum = _HEAD.unpack_from(data)
    payload = data[_HEAD.size :]
    return payload if found == version and zlib.crc32(payload) == checksum else None
