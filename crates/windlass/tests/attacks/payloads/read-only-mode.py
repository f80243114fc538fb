"""Makes a file executable in a turn that may not write.

runs: read-only
bubblewrap: read-only mount
landlock: not blocked: Landlock does not limit changes of mode
"""

import os

import attack

os.chmod(attack.PROJECT / "greet.sh", 0o777)
if os.stat(attack.PROJECT / "greet.sh").st_mode & 0o777 == 0o777:
    attack.succeeded("changed the mode")
attack.blocked("the mode is as before")
