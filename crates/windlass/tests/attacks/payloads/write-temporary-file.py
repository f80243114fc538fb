"""Changes a file of another program in the temporary directory.

bubblewrap: private temporary directory
landlock: no rule for the temporary directory
"""

import attack

attack.write(attack.VICTIM["temp"])
