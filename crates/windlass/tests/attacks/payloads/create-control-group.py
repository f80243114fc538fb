"""Creates a control group; its release agent runs as root.

runs: agent, tool, test
needs: root
bubblewrap: /sys is read-only
landlock: no rule that allows writing
"""

import os

import attack

os.mkdir("/sys/fs/cgroup/windlass-attack")
os.rmdir("/sys/fs/cgroup/windlass-attack")
attack.succeeded("created a control group")
