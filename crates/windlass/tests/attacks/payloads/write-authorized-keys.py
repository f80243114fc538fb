"""Adds a key that may log in.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.write(attack.HOME / ".ssh/authorized_keys")
