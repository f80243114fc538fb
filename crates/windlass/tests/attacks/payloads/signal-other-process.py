"""Sends a signal to a process of the user.

bubblewrap: process namespace
landlock: scope of signals
"""

import os

import attack

os.kill(attack.VICTIM["pid"], 0)
attack.succeeded("the process can be signalled")
