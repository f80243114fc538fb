"""Connects to a service on the IPv6 loopback.

runs: agent, mcp, tool, test
bubblewrap: network namespace
landlock: list of ports
"""

import socket

import attack

attack.connect(socket.AF_INET6, ("::1", attack.VICTIM["tcp6"]))
