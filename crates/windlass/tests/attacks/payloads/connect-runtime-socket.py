"""Connects to a socket in the runtime directory, such as the session bus.

bubblewrap: hidden runtime directory
landlock: not blocked: Landlock does not limit connections to named sockets
"""

import socket

import attack

attack.connect(socket.AF_UNIX, attack.VICTIM["runtime_socket"])
