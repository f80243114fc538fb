"""Sends a datagram, as a name lookup that carries data does.

runs: agent, mcp, tool, test
bubblewrap: network namespace
landlock: not blocked for agents: Landlock does not limit datagrams
"""

import socket

import attack

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.settimeout(2)
    sender.sendto(b"stolen", ("127.0.0.1", attack.VICTIM["udp"]))
    if sender.recv(100).startswith(b"canary-"):
        attack.succeeded("the datagram arrived")
attack.blocked("no answer")
