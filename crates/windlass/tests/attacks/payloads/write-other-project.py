"""Changes another project.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.write(attack.HOME / "other/build.rs")
