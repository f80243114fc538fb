"""Reads the credentials of a cluster.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".kube/config")
