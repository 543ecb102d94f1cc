"""Those who show a wrong token: how often one may, before it is told to wait."""

import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from math import ceil

from starlette.types import Scope

from skitter.api.errors import ApiError
from skitter.api.limits import Buckets, Rate

_NETWORK_BITS = 64
"""Of an IPv6 address, what somebody is given; the rest can be chosen."""


class Strangers:
    """Counts wrong tokens by the address they come from.

    Right ones are never refused for that: whoever has one may sit behind the same proxy.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._buckets = Buckets(rate, clock)

    def refuse(self, scope: Scope) -> None:
        """Count a wrong token; raises where there were too many."""
        if wait_s := self._buckets.take(_network(scope)):
            raise ApiError(
                429,
                "too many wrong tokens came from there; wait before the next",
                headers={"Retry-After": str(ceil(wait_s))},
            )


def _network(scope: Scope) -> str:
    name = str((scope.get("client") or ("",))[0])
    try:
        address = ip_address(name)
    except ValueError:
        return name
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(int(address) >> (128 - _NETWORK_BITS))
    return name
