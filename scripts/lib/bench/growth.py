"""How costs grow: one curve per question, as a picture and a table."""

import re
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from . import chart, gateway, machine, start
from .index import cpu
from .report import Table, number
from .task import Project

STREAMS = [1, 10, 100, 1_000]
TASKS = [1_000, 10_000, 100_000]
FILES = [1_000, 10_000, 100_000]
EVENTS = [100, 1_000, 10_000, 100_000]
CONCURRENT = [1, 10, 50, 200]
# Longer than the measurement takes.
STREAM_PACE_MS = 10_000


def run(bench):
    bench.wait_until_quiet()
    yield from show(bench, "streams", "Memory with open streams", "open streams", "MB", streams(bench))
    yield from show(bench, "tasks", "Reading tasks", "tasks in the store", "ms", tasks(bench))
    yield from show(bench, "claims", "A claim", "waiting tasks", "ms", claims(bench))
    yield from show(bench, "events", "Opening a task in the dashboard", "events of the task", "ms", events(bench))
    yield from show(bench, "concurrent", "Concurrent tasks in one worker", "tasks", "ms per task", concurrent(bench))
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
    load = bench.program("load")
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
    listed, board = [], []
    for count in TASKS:
        store = Store(bench, f"tasks-{count}")
        start.fill(store.database, count)
        listed.append((count, best(lambda: bench.run([*store.command, "task", "list"], cwd=store.project))))
        with store.serve() as get:
            board.append((count, best(lambda: get("/tasks"))))
    return {"task list": listed, "first page of the board": board}


def claims(bench):
    """Returns how long a claim takes while tasks wait."""
    curves = {}
    for line in bench.benchmark("store", "--", "growth").splitlines():
        found = re.match(r"(\w+): a claim with (\d+) waiting: p50 ([\d.]+) ms, p99 ([\d.]+) ms", line)
        for name, value in (("p50", found[3]), ("p99", found[4])) if found else ():
            curves.setdefault(f"{found[1]}, {name}", []).append((int(found[2]), float(value)))
    return curves


def events(bench):
    """Returns how long the requests take that the dashboard makes to open a task."""
    opened = []
    for count in EVENTS:
        store = Store(bench, f"events-{count}")
        database = sqlite3.connect(store.database)
        first, body = database.execute("SELECT max(seq), body FROM event").fetchone()
        rows = ((first + number, body) for number in range(1, count + 1))
        database.executemany("INSERT INTO event (seq, at, project_id, task_id, body) VALUES (?, 0, 1, 1, ?)", rows)
        database.execute("UPDATE counter SET value = ? WHERE name = 'event'", (first + count,))
        database.commit()
        database.close()
        with store.serve() as get:
            opened.append((count, best(lambda: (get("/tasks/1"), get("/tasks/1/events")))))
    return {"task and its events": opened}


def concurrent(bench):
    """Returns how long a task takes while others run in the same process."""
    project = Project(bench, "concurrent")
    times = []
    for count in CONCURRENT:
        worker = project.prepare("bubblewrap", f"{count} together", count)
        worker[-1] = str(count)
        started = time.monotonic()
        bench.run(worker, cwd=project.path, env=project.env)
        times.append((count, (time.monotonic() - started) * 1000 / count))
    return {"windlass worker": times}


class Store:
    """A store with one task."""

    def __init__(self, bench, name):
        self.bench = bench
        self.project, config, self.database = (bench.dir / f"{name}{end}" for end in ("", ".toml", ".db"))
        bench.run(["git", "init", "-q", self.project])
        config.write_text(f'[store]\nurl = "sqlite:{self.database}"\n')
        self.command = [bench.windlass(), "--config", config]
        bench.run([*self.command, "task", "add", "Sell tea"], cwd=self.project)

    @contextmanager
    def serve(self):
        """Runs a server, and returns what asks its API."""
        server = self.bench.start(
            [*self.command, "serve", "--listen", "127.0.0.1:0", "--no-worker"], cwd=self.project
        )
        url = machine.wait_for(server, lambda log: re.search(r"http://127\.0\.0\.1:\d+", log))[0]
        token = next(Path(self.bench.home).rglob("server-token")).read_text().strip()

        def get(path):
            headers = {"authorization": f"Bearer {token}"}
            return urllib.request.urlopen(urllib.request.Request(f"{url}/api/v1{path}", headers=headers)).read()

        yield get
        self.bench.stop(server)


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
