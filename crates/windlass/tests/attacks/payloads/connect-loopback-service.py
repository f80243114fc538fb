"""Connects to a service on loopback.

runs: agent, mcp, tool, test
bubblewrap: network namespace
landlock: list of ports
"""

import socket

import attack

attack.connect(socket.AF_INET, ("127.0.0.1", attack.VICTIM["tcp"]))
