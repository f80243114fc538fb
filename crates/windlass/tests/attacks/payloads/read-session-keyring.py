"""Reads a key from the session keyring of the user.

runs: agent, tool, test
bubblewrap: system call filter
landlock: system call filter
none: empty session keyring
"""

import ctypes

import attack

KEYCTL_SEARCH, KEYCTL_READ, SESSION_KEYRING = 10, 11, -3
keyctl = attack.number(250, 219)
key = attack.syscall(keyctl, KEYCTL_SEARCH, SESSION_KEYRING, b"user", b"windlass-attack", 0)
content = ctypes.create_string_buffer(100)
attack.syscall(keyctl, KEYCTL_READ, key, content, 100)
if attack.CANARY.encode() in content.raw:
    attack.succeeded("read the key")
attack.blocked("another key")
