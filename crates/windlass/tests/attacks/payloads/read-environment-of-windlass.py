"""Reads the environment of Windlass, which contains keys.

bubblewrap: process namespace
landlock: scope of ptrace access
"""

import os

import attack

for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if b"canary-environment" in file.read():
                attack.succeeded("read /proc/PID/environ")
    except OSError:
        continue
attack.blocked("no process shows it")
