"""Prints the licences of the crates that are linked into the program: third_party.py TARGET.

Most licences require that their text is distributed with a binary. The texts come from the sources of the crates;
texts that differ only in white space are printed once.
"""

import json
import subprocess
import sys
from pathlib import Path

NAMES = ("LICENSE", "LICENCE", "UNLICENSE", "COPYING", "COPYRIGHT", "NOTICE")


def linked(metadata: dict) -> list[dict]:
    """Returns the normal dependencies of `windlass`, direct and indirect, without the workspace members."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    own = set(metadata["workspace_members"])
    seen = set()
    todo = [member for member in own if packages[member]["name"] == "windlass"]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        for dependency in nodes[current]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return sorted((packages[found] for found in seen - own), key=lambda found: (found["name"], found["version"]))


def texts(package: dict) -> list[str]:
    """Returns the licence texts in a package's source."""
    files = sorted(Path(package["manifest_path"]).parent.iterdir())
    found = [file for file in files if file.name.upper().startswith(NAMES) and file.is_file()]
    return [file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip() for file in found]


def main() -> None:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", sys.argv[1]]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print("Windlass is built from these crates, under these licences. The texts follow.\n")
    users: dict[str, tuple[str, list[str]]] = {}
    for package in linked(metadata):
        label = f"{package['name']} {package['version']}"
        found = texts(package)
        remark = "" if found else " (no text in its source)"
        print(f"{label}: {package['license'] or 'see its text'}{remark}")
        for text in found:
            users.setdefault(" ".join(text.split()), (text, []))[1].append(label)
    for text, labels in users.values():
        print(f"\n{'=' * 80}\n{', '.join(labels)}\n{'=' * 80}\n\n{text}")


main()
