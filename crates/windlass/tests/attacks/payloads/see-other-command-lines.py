"""Reads the command lines of other processes, which may contain keys.

bubblewrap: process namespace
landlock: not blocked: Landlock does not hide processes
"""

import os

import attack

for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"canary-argument" in file.read():
                attack.succeeded("read /proc/PID/cmdline")
    except OSError:
        continue
attack.blocked("no process shows it")
