"""Changes the index of the user's repository.

bubblewrap: whole .git is read-only
landlock: not blocked: paths inside the working directory stay writable
"""

import attack

attack.write(attack.PROJECT / ".git/index")
