"""Reads the token of the crate registry, next to a readable toolchain.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

attack.read(attack.HOME / ".cargo/credentials.toml")
