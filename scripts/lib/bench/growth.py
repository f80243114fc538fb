"""How costs grow: one curve per question, as a picture and a table."""

import re
import subprocess
import time
import urllib.request
from pathlib import Path

from . import chart, gateway, machine, start
from .index import cpu
from .report import Table, number

STREAMS = [1, 10, 100, 1_000]
TASKS = [1_000, 10_000, 100_000]
FILES = [1_000, 10_000, 100_000]
# Longer than the measurement takes.
STREAM_PACE_MS = 10_000


def run(bench):
    bench.wait_until_quiet()
    yield from show(bench, "streams", "Memory with open streams", "open streams", "MB", streams(bench))
    yield from show(bench, "tasks", "Reading tasks", "tasks in the store", "ms", tasks(bench))
    yield from show(bench, "files", "Code index", "files", "CPU seconds", files(bench))


def show(bench, name, title, x_label, y_label, curves):
    """Draws the curves, and returns their table."""
    path = bench.root / "docs" / "growth" / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(chart.render(title, x_label, y_label, curves))
    sizes = sorted({x for curve in curves.values() for x, _ in curve})
    table = Table(f"growth-{name}", f"{title}, {y_label}", [f"{size:,}" for size in sizes])
    for label, curve in curves.items():
        values = dict(curve)
        table.add(label, *(number(values[size]) if size in values else "–" for size in sizes))
    yield table


def streams(bench):
    """Returns the memory of a server with open streams."""
    load = bench.program("windlass-gateway", "load")
    upstream = bench.start([load, "upstream", 20, STREAM_PACE_MS])
    url = machine.wait_for(upstream, lambda log: log.strip() if "http" in log else None)
    server = gateway.windlass(bench, url, "growth")
    points = []
    for count in STREAMS:
        command = [load, "hold", server.url, server.token, server.model, count]
        client = bench.start(command, stdin=subprocess.PIPE)
        machine.wait_for(client, lambda log: "open" in log)
        points.append((count, machine.memory_mb(server.process.pid)))
        bench.stop(client)
    bench.stop(server.process)
    bench.stop(upstream)
    return {"windlass serve": points}


def tasks(bench):
    """Returns how long lists of tasks take, over the command line and over HTTP."""
    program = bench.windlass()
    listed, board = [], []
    for count in TASKS:
        project, config, database = (bench.dir / f"tasks-{count}{end}" for end in ("", ".toml", ".db"))
        bench.run(["git", "init", "-q", project])
        config.write_text(f'[store]\nurl = "sqlite:{database}"\n')
        bench.run([program, "--config", config, "task", "add", "Sell tea"], cwd=project)
        start.fill(database, count)
        listed.append((count, best(lambda: bench.run([program, "--config", config, "task", "list"], cwd=project))))
        serve = [program, "--config", config, "serve", "--listen", "127.0.0.1:0", "--no-worker"]
        server = bench.start(serve, cwd=project)
        url = machine.wait_for(server, lambda log: re.search(r"http://127\.0\.0\.1:\d+", log))[0]
        token = next(Path(bench.home).rglob("server-token")).read_text().strip()
        request = urllib.request.Request(f"{url}/api/v1/tasks", headers={"authorization": f"Bearer {token}"})
        board.append((count, best(lambda: urllib.request.urlopen(request).read())))
        bench.stop(server)
    return {"task list": listed, "first page of the board": board}


def files(bench):
    """Returns the CPU seconds of the first index, and of one after a change."""
    program = bench.windlass()
    first, again = [], []
    for count in FILES:
        tree = bench.dir / f"files-{count}"
        for at in range(count):
            path = tree / f"d{at // 1000}" / f"m{at}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"import m{at // 2}\n\n\ndef f{at}(value):\n    return m{at // 2}.f{at // 2}(value) + {at}\n")
        bench.run(["git", "init", "-q", tree])
        bench.run(["git", "add", "-A"], cwd=tree)
        commit = ["git", "-c", "user.name=Me", "-c", "user.email=me@localhost", "commit", "-qm", "Begin"]
        bench.run(commit, cwd=tree)
        env = bench.environment(XDG_CACHE_HOME=str(bench.dir / f"cache-{count}"))
        first.append((count, cpu(bench, [program, "index"], tree, env)))
        (tree / "d0" / "m1.py").write_text("def changed():\n    pass\n")
        again.append((count, cpu(bench, [program, "index"], tree, env)))
    return {"first index": first, "one file changed": again}


def best(work, rounds=5):
    """Returns the milliseconds of the fastest of several runs."""
    times = []
    for _ in range(rounds):
        started = time.monotonic()
        work()
        times.append((time.monotonic() - started) * 1000)
    return min(times)
