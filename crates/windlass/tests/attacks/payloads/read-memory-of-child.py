"""Reads the memory of another process.

runs: tool, test
bubblewrap: system call filter
landlock: system call filter
"""

import ctypes
import os
import time

import attack


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


source = ctypes.create_string_buffer(b"canary-memory")
target = ctypes.create_string_buffer(13)
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
here = Vector(ctypes.addressof(target), 13)
there = Vector(ctypes.addressof(source), 13)
try:
    attack.syscall(attack.number(310, 270), child, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
finally:
    os.kill(child, 9)
attack.succeeded("read the memory of a process")
