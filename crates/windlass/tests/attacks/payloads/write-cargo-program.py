"""Replaces a program of the toolchain.

bubblewrap: toolchains are read-only
landlock: toolchains are read-only
"""

import attack

attack.write(attack.HOME / ".cargo/bin/cargo")
