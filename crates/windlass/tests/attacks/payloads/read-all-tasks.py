"""Reads the tasks of every project with the server's token.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.control("GET", "/tasks")
