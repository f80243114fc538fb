"""Mounts a file system in its own namespaces.

runs: tool, test
bubblewrap: system call filter
landlock: system call filter
"""

import subprocess

import attack

done = subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
if done.returncode == 0:
    attack.succeeded("mounted a file system")
attack.blocked(done.stdout.decode().strip().splitlines()[-1])
