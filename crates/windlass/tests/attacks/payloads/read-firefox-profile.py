"""Reads the passwords of a browser.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".mozilla/firefox/profile/logins.json")
