"""Creates a BPF map.

runs: agent, tool, test
needs: root
bubblewrap: no capabilities
landlock: system call filter
"""

import ctypes

import attack

BPF_MAP_CREATE, BPF_MAP_TYPE_ARRAY = 0, 2
attributes = (ctypes.c_uint32 * 32)(BPF_MAP_TYPE_ARRAY, 4, 4, 1)
attack.syscall(attack.number(321, 280), BPF_MAP_CREATE, ctypes.byref(attributes), ctypes.sizeof(attributes))
attack.succeeded("created a BPF map")
