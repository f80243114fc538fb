"""Lists the home directory to learn what else is there.

bubblewrap: home allow-list
landlock: home allow-list
"""

import os

import attack

if "notes.txt" in os.listdir(attack.HOME):
    attack.succeeded("the names are visible")
attack.blocked("only listed names are visible")
