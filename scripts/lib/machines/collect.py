"""Reads a history from the database, the remote and the machines."""

import collections
import json

from . import workload
from .checker import History


def collect(site, orders, adding, watching, injector, takeover):
    database = site.database
    stored = events(database)
    tasks = database.rows("SELECT id, idempotency_key, status, attempt, land, branch FROM windlass.task ORDER BY id")
    proofs = {row["task_id"]: json.loads(row["body"])["commit"] for row in database.rows("SELECT task_id, body FROM windlass.proof")}
    return History(
        orders={order.key: order for order in orders},
        accepted=[(accepted.key, accepted.task) for accepted in adding.accepted],
        cancelled=adding.cancelled,
        tasks=tasks,
        attempts=database.rows(
            "SELECT task_id, number, worker, started_at / 1000.0 AS started, ended_at / 1000.0 AS stopped, ended FROM windlass.attempt "
            "ORDER BY task_id, number"
        ),
        statuses=[(seq, task, status) for seq, task, kind, status in stored if kind == "task_status"],
        stored=stored,
        seen=watching.seen,
        proofs=proofs,
        moves=site.remote.moves(),
        branches={f"refs/heads/{task['branch']}": task["id"] for task in tasks if task["branch"]},
        landed=landed(site.remote),
        without_base=without_base(site, proofs),
        killed=injector.killed,
        builders=list(site.builders),
        faults=injector.intervals,
        takeover=takeover,
        running=site.running(),
        damage=damage(site),
    )


def events(database):
    """Returns the events as a client sees them."""
    rows = database.rows("SELECT seq, body FROM windlass.event ORDER BY seq")
    return [workload.seen(json.loads(row["body"]) | {"seq": row["seq"]}) for row in rows]


def landed(remote):
    """Returns the commits of main that carry each task's change."""
    found = collections.defaultdict(list)
    log = remote.git("log", "--no-merges", "--format=%H %(trailers:key=Task-Id,valueonly,separator=%x2C)", "main")
    for line in log.splitlines():
        commit, _, task = line.partition(" ")
        if task:
            found[int(task)].append(commit)
    return dict(found)


def without_base(site, proofs):
    """Returns the pairs of tasks where the first was proved without the change of the second, on which it depends."""
    pairs = site.database.rows("SELECT task_id, on_id FROM windlass.dependency")
    proved = [(row["task_id"], row["on_id"]) for row in pairs if row["task_id"] in proofs and row["on_id"] in proofs]
    if not proved:
        return []
    script = "while read -r one other of on; do git merge-base --is-ancestor $other $one || echo $of $on; done"
    lines = "".join(f"{proofs[task]} {proofs[on]} {task} {on}\n" for task, on in proved)
    (site.remote.machine.files / "pairs").write_text(lines)
    out = site.remote.machine.run(["sh", "-c", f"{script} < ../pairs"], {"HOME": site.remote.home}, f"{site.remote.home}/shop.git")
    return [tuple(int(word) for word in line.split()) for line in out.splitlines()]


def damage(site):
    """Returns what `windlass store check` finds, or nothing."""
    out = site.builders["build-1"].windlass("store", "check", codes=range(256))
    return "" if out.strip() == "the store is consistent" else out.strip()
