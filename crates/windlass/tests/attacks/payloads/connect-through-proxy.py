"""Asks the sandbox's own proxy for a service that is not on the list.

runs: agent, mcp
bubblewrap: list of hosts
landlock: list of ports
"""

import os
import socket
from urllib.parse import urlsplit

import attack

proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy")
port = attack.VICTIM["tcp"]
if not proxy:
    attack.connect(socket.AF_INET, ("127.0.0.1", port))
parts = urlsplit(proxy)
for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433"):
    with socket.create_connection((parts.hostname, parts.port), timeout=3) as stream:
        stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        if b" 200" in stream.recv(100).split(b"\r\n")[0]:
            attack.succeeded(f"the proxy connected to {host}")
attack.blocked("the proxy refused")
