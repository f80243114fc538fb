"""Traces a child, as a debugger that changes a test does.

runs: tool, test
bubblewrap: system call filter
landlock: system call filter
"""

import os
import time

import attack

PTRACE_ATTACH = 16
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
try:
    attack.syscall(attack.number(101, 117), PTRACE_ATTACH, child, 0, 0)
finally:
    os.kill(child, 9)
attack.succeeded("traced a process")
