"""The code index beside ctags, on the same tree: BENCH_TREE, a git work tree, or else this project."""

import os
import resource
import shutil
from pathlib import Path

from .machine import Problem
from .report import Table

# Larger files are rare, and not all of them are parsed.
MAX_CHANGED_BYTES = 500_000


def run(bench):
    if shutil.which("ctags") is None:
        raise Problem("ctags is missing: install universal-ctags")
    source = Path(os.environ.get("BENCH_TREE") or bench.root).resolve()
    tree = bench.dir / "tree"
    tree.mkdir()
    # A repository with one commit, so that the history of the source costs nothing.
    copy = 'git -C "$1" archive HEAD | tar -x -C "$2" && cd "$2" && git init -q && git add -A && git commit -qm Begin'
    author = {f"GIT_{who}_{what}": "me@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    bench.run(["sh", "-c", copy, "sh", source, tree], env={**os.environ, **author})
    program = bench.windlass()
    sources = [path for path in tree.rglob("*.[cr]*") if path.is_file() and path.stat().st_size < MAX_CHANGED_BYTES]
    largest = max(sources, key=lambda path: path.stat().st_size)
    names = ["`ctags -R`", "first index", "nothing changed", "one file changed", "context for a task"]
    samples = {name: [] for name in names}
    bench.wait_until_quiet()
    for number in range(bench.rounds):
        env = bench.environment(XDG_CACHE_HOME=str(bench.dir / f"index-{number}"))
        index = [program, "index"]
        samples[names[0]].append(cpu(bench, ["ctags", "-R", "-f", bench.dir / "tags", "."], tree, env))
        samples[names[1]].append(cpu(bench, index, tree, env))
        samples[names[2]].append(cpu(bench, index, tree, env))
        with open(largest, "a") as file:
            file.write("// one change\n")
        samples[names[3]].append(cpu(bench, index, tree, env))
        question = [program, "context", "--json", "renew the lease of a task that waits"]
        samples[names[4]].append(cpu(bench, question, tree, env))
    files = bench.run(["git", "-C", tree, "ls-files"]).count("\n")
    result = Table("index", f"Index of {source.name}, {files:,} files", ["CPU seconds", "beside ctags"])
    for name, times in samples.items():
        result.add(name, times, [one / bare for one, bare in zip(times, samples[names[0]])])
    yield result


def cpu(bench, command, cwd, env):
    """Returns the CPU seconds of a command and its children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    bench.run(command, cwd=cwd, env=env)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return max(now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, 0.001)
