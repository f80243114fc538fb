"""Answers its own permission request with the server's token.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.control("POST", "/approvals/1", {"option": "allow_once"})
