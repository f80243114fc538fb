"""Instructions and processes of the hot paths: figures that do not depend on the speed of the machine.

Each path runs a few and many times, and the difference counts, so that the start does not. More than the limit in
counts.json is a failure; `--write` records the counts of this build.
"""

import json
import re
import shutil
import signal
from pathlib import Path

from . import gateway
from .machine import Problem
from .report import Table
from .task import Project

LIMITS = Path(__file__).with_suffix(".json")
# How much more than recorded is accepted: compilers and C libraries differ a little.
TOLERANCE = 1.15
# Of each path in crates/windlass/benches/counts.rs: what is counted, and how often it runs.
PATHS = {
    "event": ("an event through a handle", 1_000, 5_000),
    "codex": ("the recorded output of Codex, parsed", 1, 5),
    "claude": ("the recorded output of Claude Code, parsed", 1, 5),
    "add": ("a task added, SQLite", 50, 250),
    "claim": ("a task claimed and completed, SQLite", 50, 250),
}
REQUESTS = (5, 30)
REQUEST_SECONDS = 6
TASKS = (1, 3)


def run(bench):
    for tool in ("valgrind", "strace"):
        if shutil.which(tool) is None:
            raise Problem(f"{tool} is missing: install it")
    counts = {}
    program = bench.program("counts")
    for name, (label, few, many) in PATHS.items():
        counts[label] = (instructions_of(bench, program, name, many) - instructions_of(bench, program, name, few)) / (many - few)
    for stream, label in ((False, "a plain request through the gateway"), (True, f"a stream of {gateway.CHUNKS} chunks")):
        few, many = (requests(bench, rate, stream) for rate in REQUESTS)
        counts[label] = (many - few) / ((REQUESTS[1] - REQUESTS[0]) * REQUEST_SECONDS)
    project = Project(bench, "counts")
    few, many = (project.processes(tasks) for tasks in TASKS)
    counts["programs started for a task, bubblewrap"] = (many - few) / (TASKS[1] - TASKS[0])
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {}
    result = Table("counts", "Instructions and processes of the hot paths", ["counted", "recorded"])
    for label, count in counts.items():
        result.add(label, f"{count:,.0f}", f"{limits[label]:,.0f}" if label in limits else "–")
    yield result
    if bench.write:
        LIMITS.write_text(json.dumps({label: round(count) for label, count in counts.items()}, indent=2) + "\n")
        return
    if not limits:
        raise Problem("no counts are recorded yet: record them with --write")
    worse = [label for label, count in counts.items() if count > limits.get(label, 0) * TOLERANCE]
    if worse:
        raise Problem(f"more than recorded: {'; '.join(worse)}. Find out why, or record them with --write")


def instructions_of(bench, program, *args):
    """Returns the instructions of a program that ends by itself."""
    out = bench.dir / "callgrind"
    bench.run([*counted(out), program, *args], timeout=600)
    return total(out)


def counted(out):
    return ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]


def total(out):
    return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)[1])


def requests(bench, rate, stream):
    """Returns the instructions of a server that answered requests for some seconds."""
    load = bench.program("load")
    upstream = gateway.start_upstream(bench, load)
    out = bench.dir / "callgrind"
    server = gateway.windlass(bench, upstream, name=f"counts-{rate}-{stream}", wrapper=counted(out))
    gateway.at_rate(bench, load, server, stream, rate=rate, seconds=REQUEST_SECONDS)
    if not server.samples:
        raise Problem("the server under valgrind did not answer")
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)
    return total(out)
