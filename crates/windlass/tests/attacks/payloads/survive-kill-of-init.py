"""Kills the init process that would end its process tree.

runs: alone
bubblewrap: process namespace
landlock: scope of signals
survives: yes
"""

import os

import attack

attack.start_survivor("setsid")
with open(f"/proc/{os.getppid()}/stat") as file:
    init = int(file.read().rsplit(")", 1)[1].split()[1])
with open(f"/proc/{init}/comm") as file:
    if "windlass" in file.read():
        os.kill(init, 9)
attack.changed("started a process")
