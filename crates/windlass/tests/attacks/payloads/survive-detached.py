"""Leaves a process behind that has left its group and session.

runs: agent, tool, test
bubblewrap: process tree is killed
landlock: process tree is killed
none: process tree is killed
survives: yes
"""

import subprocess

import attack

subprocess.Popen(
    ["setsid", "setsid", "bash", "-c", f"exec -a {attack.SURVIVOR} sleep 300"],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
attack.changed("started a process")
