"""How long short commands take, with many tasks in the store."""

import sqlite3
import time

from .report import Table

TASKS = 100_000
COMMANDS = {
    "`windlass --help`": ["--help"],
    "`windlass --version`": ["--version"],
    "`windlass agents`": ["agents"],
    f"`windlass task list` with {TASKS:,} tasks": ["task", "list"],
    f"`windlass task list --json` with {TASKS:,} tasks": ["task", "list", "--json"],
}


def run(bench):
    program = bench.windlass()
    project = bench.dir / "start"
    bench.run(["git", "init", "-q", project])
    config = bench.dir / "start.toml"
    config.write_text(f'[store]\nurl = "sqlite:{bench.dir}/start.db"\n')
    command = [program, "--config", config]
    bench.run([*command, "task", "add", "Sell tea"], cwd=project)
    fill(bench.dir / "start.db", TASKS)
    samples = {label: [] for label in COMMANDS}
    bench.wait_until_quiet()
    for number in range(bench.rounds * 2 + 1):
        for label, args in COMMANDS.items():
            started = time.monotonic()
            bench.run([*command, *args], cwd=project)
            if number:
                samples[label].append((time.monotonic() - started) * 1000)
    result = Table("start", "Short commands", ["ms"])
    for label, times in samples.items():
        result.add(label, times)
    yield result


def fill(path, count):
    """Copies the only task of a store until it has this many."""
    database = sqlite3.connect(path)
    columns = [row[1] for row in database.execute("PRAGMA table_info(task)") if not row[5]]
    names = ", ".join(columns)
    numbers = f"WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < {count})"
    database.execute(f"{numbers} INSERT INTO task ({names}) SELECT {names} FROM task, number")
    database.commit()
    database.close()
