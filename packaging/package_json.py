"""Prints the npm package's package.json: package_json.py VERSION CPU DESCRIPTION LICENSE MAN_DIR."""

import json
import os
import sys

version, cpu, description, licence, man = sys.argv[1:]
package = {
    "name": "windlass",
    "version": version,
    "description": description,
    "license": f"({licence})",
    "os": ["linux"],
    "cpu": [cpu],
    "libc": ["glibc"],
    "bin": {"windlass": "bin/windlass"},
    "man": [f"share/man/man1/{page}" for page in sorted(os.listdir(man))],
    "files": ["bin", "share", "CHANGELOG.md", "LICENSE-*", "THIRD-PARTY.txt"],
}
print(json.dumps(package, indent=2))
