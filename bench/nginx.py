"""nginx over a rendered web: one worker on a core of its own, its access log as the judge."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.render import Manifest

_START_WITHIN_S = 10.0
_STOP_WITHIN_S = 10.0
_CONFIG = """\
daemon off; worker_processes 1; worker_rlimit_nofile 65535;
{user}pid {home}/nginx.pid; error_log {home}/error.log warn;
events {{ worker_connections 8192; multi_accept on; }}
http {{
  types {{ text/html html; application/pdf pdf; text/plain txt; text/css css; image/svg+xml svg; }}
  default_type application/octet-stream; charset utf-8;
  sendfile on; tcp_nopush on; tcp_nodelay on; etag off; server_tokens off; log_not_found off;
  keepalive_timeout 75s; keepalive_requests 100000000;
  log_format judge '$msec $host $status $request_uri $body_bytes_sent';
  access_log {log} judge buffer=64k flush=1s;
  client_body_temp_path {home}/t1; proxy_temp_path {home}/t2; fastcgi_temp_path {home}/t3;
  uwsgi_temp_path {home}/t4; scgi_temp_path {home}/t5;
  map_hash_max_size 65536; map_hash_bucket_size 256;
  map "$host$uri" $goal {{ include {folder}/redirects.map; }}
  server {{
    {listen}
    root {folder}/files/$host;
    location /old/ {{ return 301 $goal; }}
  }}
}}
"""


@contextmanager
def served(manifest: Manifest, home: Path, *, core: int) -> Iterator[Path]:
    """Serve a rendered web; the access log whose path is given is whole after the block."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / "access.log"
    log.unlink(missing_ok=True)
    config = home / "nginx.conf"
    config.write_text(
        _CONFIG.format(
            user="user root;\n" if os.geteuid() == 0 else "",
            home=home,
            log=log,
            folder=manifest.folder,
            listen=" ".join(
                f"listen {address}:{manifest.port} backlog=4096;" for address in manifest.addresses
            ),
        )
    )
    command = ["taskset", "-c", str(core), "nginx", "-p", str(home), "-c", str(config)]
    with (home / "nginx.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        _await_listening(process, manifest)
        yield log
    finally:
        # A graceful stop writes what is left in the log's buffer.
        process.terminate()
        try:
            process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_listening(process: subprocess.Popen[bytes], manifest: Manifest) -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((manifest.addresses[-1], manifest.port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nginx did not start on port {manifest.port}; see its error.log")
