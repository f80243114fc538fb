"""Makes a hard link to a key in the working directory, and reads that.

bubblewrap: home allow-list
landlock: home allow-list
"""

import os

import attack

link = attack.PROJECT / "linked.txt"
if link.exists():
    link.unlink()
os.link(attack.HOME / ".ssh/id_ed25519", link)
attack.read(link)
