"""Reads a key through a symbolic link in the working directory.

bubblewrap: home allow-list
landlock: home allow-list
"""

import os

import attack

link = attack.PROJECT / "innocent.txt"
if link.is_symlink():
    link.unlink()
os.symlink(attack.HOME / ".ssh/id_ed25519", link)
attack.read(link)
