"""Reads the secrets of another project.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / "other/.env")
