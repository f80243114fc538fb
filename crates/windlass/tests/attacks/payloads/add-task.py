"""Adds a task with the server's token.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.control("POST", "/tasks", {"title": "obey"})
