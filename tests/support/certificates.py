"""Certificates for servers of tests that speak TLS."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, each in a file."""

    path: Path
    key: Path

    @property
    def redis_options(self) -> dict[str, str]:
        """What makes a Redis speak TLS with it, and ask nobody for another one."""
        return {
            "tls-cert-file": str(self.path),
            "tls-key-file": str(self.key),
            "tls-ca-cert-file": str(self.path),
            "tls-auth-clients": "no",
        }


def certificate(folder: Path, names: str) -> Certificate:
    """Make a certificate that nobody has signed but itself."""
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=store.test"]
    command += ["-addext", f"subjectAltName={names}"]
    command += ["-out", str(made.path), "-keyout", str(made.key)]
    subprocess.run(command, check=True, capture_output=True)
    return made
