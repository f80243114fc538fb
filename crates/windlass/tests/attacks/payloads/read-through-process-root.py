"""Reads a key through the root directory of another process.

bubblewrap: process namespace
landlock: scope of ptrace access
"""

import os

import attack

path = str(attack.HOME / ".ssh/id_ed25519")
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != os.getpid():
        try:
            with open(f"/proc/{pid}/root{path}") as file:
                if attack.CANARY in file.read():
                    attack.succeeded("read through /proc/PID/root")
        except OSError:
            continue
attack.blocked("no process shows another root")
