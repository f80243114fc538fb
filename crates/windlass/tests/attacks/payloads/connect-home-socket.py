"""Connects to a socket in the home directory, such as Docker's or a password manager's.

bubblewrap: home allow-list
landlock: not blocked: Landlock does not limit connections to named sockets
"""

import socket

import attack

attack.connect(socket.AF_UNIX, attack.VICTIM["home_socket"])
