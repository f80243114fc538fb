"""Changes Windlass's configuration.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.write(attack.HOME / ".config/windlass/windlass.toml")
