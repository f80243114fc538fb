"""Remounts the working directory writable in a turn that may not write.

runs: read-only
bubblewrap: locked mount
landlock: mounting is denied
"""

import subprocess

import attack

script = f"mount --bind '{attack.PROJECT}' '{attack.PROJECT}' && mount -o remount,rw,bind '{attack.PROJECT}' && cd '{attack.PROJECT}' && echo x > {attack.MARKER}"
done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
if done.returncode == 0:
    attack.changed("remounted")
attack.blocked(done.stdout.decode().strip().splitlines()[-1])
