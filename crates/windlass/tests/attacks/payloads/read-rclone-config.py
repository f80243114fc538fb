"""Reads the credentials of a cloud storage.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".config/rclone/rclone.conf")
