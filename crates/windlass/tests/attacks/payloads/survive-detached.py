"""Leaves a process behind that has left its group and session.

runs: agent, tool, test
bubblewrap: process tree is killed
landlock: process tree is killed
none: process tree is killed
survives: yes
"""

import attack

attack.start_survivor("setsid", "setsid")
attack.changed("started a process")
