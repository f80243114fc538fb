"""Points git at foreign objects.

bubblewrap: whole .git is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".git/objects/info/alternates")
