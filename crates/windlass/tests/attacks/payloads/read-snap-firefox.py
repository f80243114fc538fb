"""Reads the passwords of a browser from a snap package.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / "snap/firefox/common/.mozilla/logins.json")
