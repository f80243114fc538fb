"""Writes a Python wheel that contains the program: wheel.py TREE VERSION ARCH GLIBC DESCRIPTION LICENSE OUT.

TREE has the layout of a prefix: `bin` becomes the scripts of the wheel, the rest its data, which pip installs into the
environment.
"""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

# The oldest glibc with a manylinux tag on every architecture.
OLDEST_GLIBC = (2, 17)


def python_version(version: str) -> str:
    """Converts a version to Python's format: 1.2.3-rc.1 becomes 1.2.3rc1."""
    short = {"alpha": "a", "beta": "b", "rc": "rc"}
    return re.sub(r"-(alpha|beta|rc)\.", lambda found: short[found[1]], version)


def metadata(version: str, description: str, licence: str) -> str:
    return (
        "Metadata-Version: 2.1\n"
        "Name: windlass\n"
        f"Version: {version}\n"
        f"Summary: {description}\n"
        f"License: {licence}\n"
        "Requires-Python: >=3.8\n"
        "Classifier: Environment :: Console\n"
        "Classifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Programming Language :: Rust\n"
    )


def contents(tree: Path, name: str, tag: str, version: str, description: str, licence: str):
    """Returns the files of the wheel: name, bytes, and whether it is a program. RECORD, which lists them, is last."""
    info = f"{name}.dist-info"
    files = []
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        inside = path.relative_to(tree)
        if inside.parts[0] == "bin":
            files.append((f"{name}.data/scripts/{inside.name}", path.read_bytes(), True))
        elif inside.name.startswith("LICENSE-"):
            files.append((f"{info}/licenses/{inside.name}", path.read_bytes(), False))
        else:
            files.append((f"{name}.data/data/{inside.as_posix()}", path.read_bytes(), False))
    wheel = f"Wheel-Version: 1.0\nGenerator: windlass\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files.append((f"{info}/METADATA", metadata(version, description, licence).encode(), False))
    files.append((f"{info}/WHEEL", wheel.encode(), False))
    record = ""
    for inside, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += f"{inside},sha256={digest},{len(data)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), False))
    return files


def main() -> None:
    tree, version, arch, glibc, description, licence, out = sys.argv[1:]
    version = python_version(version)
    major, minor = max(tuple(int(part) for part in glibc.split(".")[:2]), OLDEST_GLIBC)
    tag = f"py3-none-manylinux_{major}_{minor}_{arch}"
    name = f"windlass-{version}"
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(Path(out) / f"{name}-{tag}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for inside, data, is_program in contents(Path(tree), name, tag, version, description, licence):
            entry = zipfile.ZipInfo(inside, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            wheel.writestr(entry, data)


main()
