"""Checks whether a set-user-ID program could give it privileges.

runs: agent, tool, test
bubblewrap: no new privileges
landlock: no new privileges
none: no new privileges
"""

import attack

with open("/proc/self/status") as file:
    if "NoNewPrivs:\t1" in file.read():
        attack.blocked("no new privileges")
attack.succeeded("set-user-ID programs work")
