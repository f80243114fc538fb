"""One PostgreSQL with many workers and a long history: what the database does, counted by itself.

The figures are counts of statements, of pages of 8 kB and of bytes, which a busy machine does not change, and times, which it
does. The workers are those of `crates/store/benches/crowd.rs`: each has its own connections and calls the store as a worker
does. The history is written by SQL; its tasks have one attempt, a proof and four events each.
"""

import json
import subprocess
import time
from pathlib import Path

from . import growth, machine, postgres
from .report import Table, number

HISTORY = [1_000, 10_000, 100_000, 1_000_000]
WORKERS = [10, 100, 1_000]
WAITING = 10_000
SECONDS = 30
CLAIMS = 200

LOAD = """
INSERT INTO project (name, root, created_at, remote) SELECT 'p' || g, '/p' || g, 0, 'git@example.org:p' || g FROM generate_series(1, 10) g;
INSERT INTO task (project_id, title, description, status, priority, workflow_step, kind, attempt, tries, max_attempts, branch,
    output, usage, created_at, updated_at, completed_at)
  SELECT 1 + g % 10, 'Task number ' || g, repeat('What is to be done. ', 8), CASE WHEN g % 50 = 0 THEN 'failed' ELSE 'completed' END,
    1, 0, 'backend', 1, 1, 3, 'windlass/ab12cd34/task-' || g, 'done', '{}', g, g, g FROM generate_series(1, :history) g;
INSERT INTO attempt (task_id, number, worker, started_at, ended_at, ended, usage, change_commit, base)
  SELECT g, 1, 'm/' || g % 1000, g, g, 'completed', '{"input_tokens":1000,"output_tokens":100}', md5(g::text) || '01234567',
    md5(g::text) || '76543210' FROM generate_series(1, :history) g;
INSERT INTO proof SELECT g, 1, '{"base":"' || md5(g::text) || '","command":["cargo","test"],"exit":0,"counts":{"passed":120}}'
  FROM generate_series(1, :history) g;
INSERT INTO event (seq, at, project_id, task_id, body)
  SELECT 4 * g + k, g, 1 + g % 10, g, '{"type":"task_status","project_id":' || 1 + g % 10 || ',"task_id":' || g
    || ',"status":"completed","agent_id":"backend-worker"}' FROM generate_series(1, :history) g, generate_series(0, 3) k;
UPDATE counter SET value = (SELECT coalesce(max(seq), 0) FROM event) WHERE name = 'event';
INSERT INTO task (project_id, title, description, status, priority, workflow_step, kind, max_attempts, created_at, updated_at)
  SELECT 1 + g % 10, 'Waiting task ' || g, '', 'pending', 1, 0, 'backend', 3, 0, 0 FROM generate_series(1, :waiting) g;
"""

STATEMENTS = """
SELECT sum(calls), sum(shared_blks_hit + shared_blks_read), sum(total_exec_time), sum(calls) FILTER (WHERE query LIKE 'BEGIN%')
FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def run(bench):
    server = Database(bench)
    yield from grow_history(bench, server)
    yield from grow_workers(bench, server)
    yield sizes(server)
    yield churn(bench, server)
    server.stop()


class Database(postgres.Server):
    """A server with counters of statements, and a store for each length of history."""

    SETTINGS = ["max_connections=6000", "shared_buffers=256MB", "max_wal_size=4GB", "track_io_timing=on",
                "shared_preload_libraries=pg_stat_statements"]

    def __init__(self, bench):
        super().__init__(bench, self.SETTINGS)
        self.crowd = bench.program("crowd")
        self.query("postgres", "CREATE EXTENSION pg_stat_statements")

    def url(self, database):
        return f"postgres://bench@127.0.0.1:{self.port}/{database}"

    def query(self, database, text, **variables):
        """Runs statements in the schema of the store, and returns the rows of the last one."""
        command = [self.programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        command += [part for name, value in variables.items() for part in ("-v", f"{name}={value}")]
        text = f"SET search_path TO windlass, public;\n{text}"
        output = self.bench.run([*command, self.url(database)], input=text)
        return [line.split("|") for line in output.splitlines() if line]

    def store(self, name, history, waiting):
        """Creates a store with ended tasks and waiting ones."""
        self.query("postgres", f"CREATE DATABASE {name}")
        self.work(name, 1, 0, "idle")
        started = time.monotonic()
        self.query(name, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public;" + LOAD, history=history, waiting=waiting)
        self.query(name, "VACUUM ANALYZE")
        return time.monotonic() - started

    def work(self, name, workers, seconds, mode):
        """Runs workers, and returns their figures with what the database did meanwhile."""
        command = [str(self.crowd), self.url(name), str(workers), str(seconds), mode]
        # Their connections are many.
        crowd = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if "ready" not in crowd.stdout.readline():
                raise machine.Problem(f"`{' '.join(command)}` did not start")
            counted = bool(seconds)
            if counted:
                self.query(name, "SELECT pg_stat_statements_reset()")
                cpu = machine.cpu_seconds(self.process.pid)
            crowd.stdin.write("go\n")
            crowd.stdin.flush()
            connections = 0
            if counted:
                time.sleep(seconds / 2)
                count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                connections = int(self.query(name, count)[-1][0]) - 1
            figures = json.loads(crowd.stdout.readline())
            if counted:
                cpu = machine.cpu_seconds(self.process.pid) - cpu
                calls, pages, busy, _ = self.query(name, STATEMENTS)[-1]
                figures |= {"calls": float(calls), "pages": float(pages), "busy_ms": float(busy), "cpu": cpu}
                figures["connections"] = connections
            return figures
        finally:
            crowd.kill()
            crowd.wait()


def grow_history(bench, server):
    """What a claim and the lists cost after more and more ended tasks."""
    claims, pages, listed = [], [], []
    for history in HISTORY:
        name = f"history_{history}"
        seconds = server.store(name, history, WAITING)
        print(f"{history:,} tasks loaded in {seconds:.0f} s", flush=True)
        figures = server.work(name, 1, 5, "drain")
        claims.append((history, figures["claim_p99_ms"]))
        pages.append((history, figures["pages"] / max(1, figures["calls"])))
        listed.append((history, list_pages(server, name)))
    curves = {"claim, p99 in ms": claims, "pages per statement": pages, "pages, list of waiting": listed}
    yield from growth.show(bench, "scale-history", "After a long history", "ended tasks", "ms, or pages of 8 kB", curves)


def list_pages(server, name):
    """Returns how many pages the database reads for the first page of waiting tasks."""
    listed = "SELECT * FROM task WHERE (status, id) > ('pending', 0) AND status <= 'pending' ORDER BY status, id LIMIT 500"
    rows = server.query(name, f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {listed}")
    plan = json.loads("\n".join("|".join(row) for row in rows))[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def grow_workers(bench, server):
    """What more and more workers cost while they wait, and while each runs a task."""
    table = Table(
        "scale-workers",
        f"Workers on one database, per second ({SECONDS} s each; times on a machine that may be busy)",
        ["idle: statements", "idle: CPU s", "busy: statements", "busy: CPU s", "claims per added task", "until a claim, ms", "connections"],
    )
    idle_curve, busy_curve = [], []
    for workers in WORKERS:
        name = f"workers_{workers}"
        server.store(name, 100_000, 0)
        idle = server.work(name, workers, SECONDS, "idle")
        added = server.work(name, workers, SECONDS, "add")
        busy = server.work(name, workers, SECONDS, "busy")
        rate = lambda figures, what: number(figures[what] / figures["seconds"])  # noqa: E731
        wait = f"{number(added['wait_p50_ms'])} (p99 {number(added['wait_p99_ms'])})"
        claims = number((added["claims"] - idle["claims"]) / max(1, added["claimed"]))
        table.add(f"{workers:,}", rate(idle, "calls"), rate(idle, "cpu"), rate(busy, "calls"), rate(busy, "cpu"), claims, wait,
                  str(idle["connections"]))
        idle_curve.append((workers, idle["calls"] / idle["seconds"]))
        busy_curve.append((workers, busy["calls"] / busy["seconds"]))
    yield from growth.show(bench, "scale-workers", "Workers on one database", "workers", "statements per second",
                           {"idle": idle_curve, "each with a task": busy_curve})
    yield table


def sizes(server):
    """How large the tables and indexes are, for each task of the history."""
    name, history = f"history_{HISTORY[-1]}", HISTORY[-1]
    rows = server.query(name, """
        SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid), c.reltuples FROM pg_class c
        WHERE c.relnamespace = 'windlass'::regnamespace AND c.relkind = 'r' AND pg_total_relation_size(c.oid) > 1000000
        ORDER BY pg_total_relation_size(c.oid) DESC""")
    table = Table("scale-sizes", f"Bytes per task of a history of {history:,} tasks", ["rows per task", "table", "indexes"])
    for relation, size, indexes, count in rows:
        table.add(f"`{relation}`", number(float(count) / history), number(int(size) / history), number(int(indexes) / history))
    return table


def churn(bench, server):
    """How much tables grow by tasks that are claimed and finished while autovacuum works."""
    name, count = "churn", 50_000
    server.store(name, 0, count)
    relations = ["task", "task_next", "task_status", "counter", "worker"]
    size = lambda: {name_: int(server.query(name, f"SELECT pg_relation_size('{name_}')")[-1][0]) for name_ in relations}  # noqa: E731
    before = size()
    figures = server.work(name, 16, 120, "drain")
    after = size()
    title = f"Bytes before and after {figures['claimed']:,} of {count:,} waiting tasks were claimed and finished"
    table = Table("scale-churn", title, ["before", "after", "ratio"])
    for relation in relations:
        ratio = after[relation] / max(8192, before[relation])
        table.add(f"`{relation}`", f"{before[relation]:,}", f"{after[relation]:,}", number(ratio))
    return table
