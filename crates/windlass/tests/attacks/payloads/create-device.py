"""Creates a device file for the memory of the machine.

runs: agent, tool, test
needs: root
bubblewrap: no capabilities
landlock: no rule that allows devices
"""

import os

import attack

os.mknod("device", 0o600 | 0o020000, os.makedev(1, 1))
os.unlink("device")
attack.succeeded("created a device")
