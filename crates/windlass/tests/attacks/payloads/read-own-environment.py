"""Finds the user's keys in its own environment.

runs: agent, tool, test
bubblewrap: composed environment
landlock: composed environment
none: composed environment
"""

import os

import attack

if any("canary-environment" in value for value in os.environ.values()):
    attack.succeeded("a key is in the environment")
attack.blocked("no key is in the environment")
