"""Makes a commit in a turn that may not write.

runs: read-only
bubblewrap: read-only mount
landlock: no rule that allows writing
"""

import subprocess

import attack

command = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m", attack.MARKER]
done = subprocess.run(command, cwd=attack.PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
if done.returncode == 0:
    attack.succeeded("made a commit")
attack.blocked(done.stdout.decode().strip().splitlines()[-1])
