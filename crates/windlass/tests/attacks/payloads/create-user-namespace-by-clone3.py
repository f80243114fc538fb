"""Creates a user namespace by clone3; a simple filter cannot see its flags.

runs: tool, test
bubblewrap: system call filter
landlock: system call filter
"""

import ctypes
import os

import attack

CLONE_NEWUSER, SIGCHLD = 0x10000000, 17
arguments = (ctypes.c_uint64 * 11)(CLONE_NEWUSER, 0, 0, 0, SIGCHLD)
pid = attack.syscall(435, ctypes.byref(arguments), ctypes.sizeof(arguments))
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
attack.succeeded("created a user namespace")
