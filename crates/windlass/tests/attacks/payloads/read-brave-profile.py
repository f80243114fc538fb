"""Reads the cookies of a browser that few lists name.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/BraveSoftware/Brave-Browser/Default/Cookies")
