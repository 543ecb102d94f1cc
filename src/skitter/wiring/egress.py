"""The address of this machine that requests leave from."""

import socket
from ipaddress import ip_address

from skitter.errors import ConfigError


def checked_egress(text: str) -> str:
    """Return an address of this machine, or say what is wrong with it."""
    try:
        address = str(ip_address(text))
    except ValueError as error:
        raise ConfigError(f"--egress {text}: wanted an IP address of this machine") from error
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        raise ConfigError(
            f"--egress {text}: requests cannot leave from there ({error.strerror}); wanted an IP"
            " address of this machine"
        ) from error
    return address
