"""The task queue beside others, on PostgreSQL with `fsync` and on SQLite."""

import json
import re

from . import peers, postgres
from .report import Table

MEASURES = ["added by 1", "added by 16", "claimed and finished by 1", "claimed and finished by 16"]


def run(bench):
    bench.benchmark("store", "--no-run")
    server = postgres.Server(bench)
    scripts = {name: script(bench, server) for name, script in peers.QUEUES.items()}
    bench.wait_until_quiet()
    figures = {}
    for _ in range(bench.rounds):
        for line in bench.benchmark("store").splitlines():
            read_line(line, figures)
        for name, (command, env) in scripts.items():
            for measure, rate in json.loads(bench.run(command, env=env)).items():
                figures.setdefault((name, measure), []).append(rate)
    server.stop()
    names = [
        ("bare inserts, PostgreSQL", "PostgreSQL: bare inserts"),
        ("**windlass**, PostgreSQL", "PostgreSQL"),
        *((name, name) for name in scripts if "sqlite" not in name),
        ("bare inserts, SQLite", "SQLite: bare inserts"),
        ("**windlass**, SQLite", "SQLite"),
        *((name, name) for name in scripts if "sqlite" in name),
    ]
    result = Table("queue", "Queue, tasks per second", MEASURES)
    for label, name in names:
        result.add(label, *(figures.get((name, measure), []) for measure in MEASURES))
    yield result
    latency = Table("queue-latency", "From adding a task to its claim by an idle worker of another process, ms", ["p50", "p99"])
    for name in ("PostgreSQL", "SQLite"):
        latency.add(f"**windlass**, {name}", figures.get((name, "p50"), []), figures.get((name, "p99"), []))
    yield latency


def read_line(line, figures):
    """Reads one line of the store's benchmark."""
    if found := re.match(r"(\w+): (added by|claimed and finished by) +(\d+)\D*?([\d.]+) /s", line):
        figures.setdefault((found[1], f"{found[2]} {found[3]}"), []).append(float(found[4]))
    elif found := re.match(r"(\w+: bare inserts)(?: by +(\d+) clients)? +([\d.]+) /s", line):
        figures.setdefault((found[1], f"added by {found[2] or 1}"), []).append(float(found[3]))
    elif found := re.match(r"(\w+): from adding.*?p50 +([\d.]+) ms.*?p99 +([\d.]+) ms", line):
        figures.setdefault((found[1], "p50"), []).append(float(found[2]))
        figures.setdefault((found[1], "p99"), []).append(float(found[3]))
