"""Finds open files that were inherited from Windlass.

runs: agent, tool, test
bubblewrap: inherited files are closed
landlock: inherited files are closed
none: inherited files are closed
"""

import os

import attack

for name in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if int(name) > 2 and target.startswith("/") and not target.startswith(("/proc", "/dev/null")):
        attack.succeeded(f"inherited {target}")
attack.blocked("no file was inherited")
