"""Connects to an abstract socket, which has no file.

bubblewrap: network namespace
landlock: scope of abstract sockets
"""

import socket

import attack

attack.connect(socket.AF_UNIX, "\0" + attack.VICTIM["abstract"])
