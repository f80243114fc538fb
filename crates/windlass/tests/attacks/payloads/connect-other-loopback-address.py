"""Connects to a service on another loopback address.

runs: agent, mcp, tool, test
bubblewrap: network namespace
landlock: list of ports
"""

import socket

import attack

attack.connect(socket.AF_INET, ("127.0.0.2", attack.VICTIM["tcp2"]))
