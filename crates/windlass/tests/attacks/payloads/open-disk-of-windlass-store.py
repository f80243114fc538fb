"""Opens the store of the queue and reads tasks.

bubblewrap: home allow-list
landlock: home allow-list
"""

import attack

with open(attack.VICTIM["store"], "rb") as file:
    if file.read(16).startswith(b"SQLite format 3"):
        attack.succeeded("opened the store")
attack.blocked("not a store")
