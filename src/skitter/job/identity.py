"""What makes a job the same job when it is started again."""

from hashlib import blake2b

from skitter.job.entry import entry_host


def derived_id(entries: tuple[str, ...]) -> str:
    """Return the id of a job nobody named: the same entries, in any order, give the same one."""
    host = entry_host(min(entries)) if entries else "seeds"
    safe = "".join(char if char.isalnum() or char in ".-_" else "-" for char in host)
    return f"{safe[:100].strip('.-_') or 'job'}-{entries_digest(entries, size=4)}"


def entries_digest(entries: tuple[str, ...], *, size: int) -> str:
    """Return a hash of the set of entries, ``size`` bytes in hex."""
    joined = "\n".join(sorted(set(entries))).encode()
    return blake2b(joined, digest_size=size).hexdigest()
