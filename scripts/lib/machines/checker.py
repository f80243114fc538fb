"""Checks a history. Pure: what happened goes in, as plain values, and sentences about what must not be come out."""

import collections
import dataclasses

FINAL = {"completed", "failed", "blocked", "cancelled"}


@dataclasses.dataclass
class History:
    """What the clients, the database, the remote and the machines have at the end."""

    # The tasks as they were ordered, by key, and the answers that clients got: (key, task).
    orders: dict
    accepted: list
    # Ids of tasks whose cancellation was acknowledged.
    cancelled: list
    # Rows of the database.
    tasks: list
    attempts: list
    # Status changes of tasks, in order: (seq, task, status).
    statuses: list
    # All events that the database has, and those that a client saw, in order: (seq, task, type, status).
    stored: list
    seen: list
    # Commits of proofs, by task.
    proofs: dict
    # Changes of refs of the remote, in order: (old, new, ref). Of the branches of tasks: their id by ref.
    moves: list
    branches: dict
    # Commits of main that carry each task's change, by task.
    landed: dict
    # Pairs of tasks where the commit of the first does not contain that of the second, although it depends on it.
    without_base: list
    # When workers were killed: (worker, second). The machines with workers, and what disturbed which machine: (from, to, machine).
    killed: list
    builders: list
    faults: list
    # The longest time until a takeover, if the database and one other worker are not disturbed.
    takeover: float
    # Command lines of processes that still run: (machine, command).
    running: list
    # What `windlass store check` reports.
    damage: str


def violations(history):
    """Returns a sentence for everything that must not be."""
    return [sentence for check in CHECKS for sentence in check(history)]


def acknowledged(history):
    """No acknowledged write is lost, and a key names one task."""
    by_key = collections.defaultdict(list)
    for task in history.tasks:
        by_key[task["idempotency_key"]].append(task["id"])
    for key, task in history.accepted:
        if by_key[key] != [task]:
            yield f"{key} was accepted as task {task}, and the store has {by_key[key]}"
    for key in history.orders:
        if len(by_key[key]) != 1:
            yield f"{key} is {len(by_key[key])} tasks"
    for key in by_key.keys() - history.orders.keys():
        yield f"no client has added {key}"
    by_id = {task["id"]: task for task in history.tasks}
    for task in history.cancelled:
        if task not in by_id or by_id[task]["status"] not in ("cancelled", "completed"):
            yield f"task {task} was cancelled, and is {by_id.get(task, {}).get('status')}"


def ends(history):
    """Every accepted task ends exactly once."""
    counts = ended(history)
    for task in history.tasks:
        name, status = f"task {task['id']}", task["status"]
        allowed = {"completed", "cancelled"} if task["id"] in history.cancelled else {"completed"}
        if status not in allowed:
            yield f"{name} is {status}"
        elif counts[task["id"], status] != 1:
            yield f"{name} ended {counts[task['id'], status]} times as {status}"
        others = [other for other in FINAL - {status} if counts[task["id"], other]]
        if others:
            yield f"{name} also ended as {', '.join(others)}"


def ended(history):
    """Counts how often each task ended with each status. The progress of a landing repeats the status of its task."""
    counts, last = collections.Counter(), {}
    lands = {task["id"] for task in history.tasks if task["land"]}
    for _, task, status in history.statuses:
        if status in FINAL and not (task in lands and last.get(task) == status):
            counts[task, status] += 1
        last[task] = status
    return counts


def attempts(history):
    """Each attempt has ended, at most one completed its task, and none follows it."""
    by_task = collections.defaultdict(list)
    for attempt in history.attempts:
        by_task[attempt["task_id"]].append(attempt)
    for task in history.tasks:
        made = sorted(by_task[task["id"]], key=lambda attempt: attempt["number"])
        name = f"task {task['id']}"
        if [attempt["number"] for attempt in made] != list(range(1, len(made) + 1)) or len(made) != task["attempt"]:
            yield f"{name} has attempts {[attempt['number'] for attempt in made]}, and its last is {task['attempt']}"
        ended = [attempt["ended"] for attempt in made]
        if None in ended:
            yield f"{name} has an attempt without an end: {ended}"
        if task["status"] == "completed" and (ended.count("completed") != 1 or ended[-1] != "completed"):
            yield f"{name} is completed, by attempts that ended as {ended}"


def publications(history):
    """Each change is published at most once, and what is published is what was proved."""
    moved = collections.defaultdict(list)
    for old, new, ref in history.moves:
        if ref in history.branches:
            moved[history.branches[ref]].append(new)
    for task in history.tasks:
        commits, name = moved[task["id"]], f"task {task['id']}"
        if task["status"] == "completed":
            proof = history.proofs.get(task["id"])
            if commits != [proof]:
                yield f"{name} was proved as {proof} and published as {commits}"
        elif commits and task["id"] not in history.cancelled:
            yield f"{name} is {task['status']}, and was published as {commits}"


def landings(history):
    """What was ordered to land is on the branch once, and nothing else is."""
    for task in history.tasks:
        commits = history.landed.get(task["id"], [])
        land = task["land"] and task["status"] == "completed"
        if len(commits) != (1 if land else 0):
            yield f"task {task['id']} is {len(commits)} times on the branch"

def bases(history):
    """A task is proved on top of those that it depends on."""
    for task, other in history.without_base:
        yield f"the change of task {task} does not contain that of task {other}"


def events(history):
    """The events have no gap, and a client that reconnects to any server sees each once, in order."""
    stored, seen = ([event[0] for event in found] for found in (history.stored, history.seen))
    if stored != list(range(1, len(stored) + 1)):
        yield f"the events of the store have a gap: {len(stored)} of {stored[-1] if stored else 0}"
    if seen != sorted(set(seen)):
        yield "a client saw events twice, or not in order"
    missing = sorted(set(stored) - set(seen))
    if missing:
        yield f"a client missed {len(missing)} events, the first is {missing[0]}"
    known = {event[0]: event for event in history.seen}
    for event in history.stored:
        other = known.get(event[0], event)
        if other != event:
            yield f"event {event[0]} was another one when a client saw it: {other}"


def takeovers(history):
    """The tasks of a killed worker are taken over within the lease and one reclaim interval."""
    for worker, killed in history.killed:
        limit = min(undisturbed(killed, history.takeover, history.faults, {name, "database"}) for name in history.builders)
        for attempt in history.attempts:
            held = attempt["worker"] == worker and attempt["started"] <= killed
            stopped = attempt["stopped"] or float("inf")
            if held and stopped > limit:
                yield (f"task {attempt['task_id']} of the killed worker {worker} was taken over after {stopped - killed:.1f} s; "
                       f"{limit - killed:.1f} s were enough")


def undisturbed(start, needed, faults, machines):
    """Returns the end of the first time of this length, after a start, in which nothing disturbed these machines."""
    for begin, end, machine in sorted(faults):
        if machine in machines and begin < start + needed and end > start:
            start = end
    return start + needed


def remains(history):
    """Nothing is left running, and the store is consistent."""
    for machine, command in history.running:
        yield f"{machine} still runs: {command[:300]}"
    if history.damage:
        yield f"windlass store check: {history.damage}"


CHECKS = [acknowledged, ends, attempts, publications, landings, bases, events, takeovers, remains]


def blind_spots(history):
    """Breaks a correct history in every way that a check is for, and returns what was not found."""
    done = next(task for task in history.tasks if task["status"] == "completed" and not task["land"])
    task, key = done["id"], done["idempotency_key"]
    ref = next(ref for ref, number in history.branches.items() if number == task)
    end = next(entry for entry in history.statuses if entry[1:] == (task, "completed"))
    others = [other for other in history.tasks if other is not done]
    last = [attempt for attempt in history.attempts if attempt["task_id"] == task][-1]
    open_end = [attempt | {"ended": None} if attempt is last else attempt for attempt in history.attempts]
    late = [attempt | {"stopped": attempt["started"] + 1e6} if attempt is last else attempt for attempt in history.attempts]
    broken = {
        "a lost task": {"tasks": others},
        "a task under two keys": {"tasks": [*history.tasks, done | {"id": 10**9}]},
        "a task that no client added": {"tasks": [*history.tasks, done | {"id": 10**9, "idempotency_key": "other"}]},
        "a lost cancellation": {"cancelled": [*history.cancelled, 10**9]},
        "a task that runs": {"tasks": [*others, done | {"status": "in_progress"}]},
        "a second end": {"statuses": [*history.statuses, end]},
        "an attempt without an end": {"attempts": open_end},
        "an attempt twice": {"attempts": [*history.attempts, last]},
        "a second publication": {"moves": [*history.moves, ("0", "f", ref)]},
        "a publication of something else": {"proofs": history.proofs | {task: "f"}},
        "a change that landed twice": {"landed": history.landed | {task: ["f", "e"]}},
        "a base without a dependency": {"without_base": [(task, task)]},
        "a gap in the events": {"stored": history.stored[1:]},
        "a missed event": {"seen": history.seen[1:]},
        "an event twice": {"seen": [*history.seen, history.seen[-1]]},
        "another event": {"seen": [*history.seen[:-1], (*history.seen[-1][:3], "other")]},
        "a late takeover": {"attempts": late, "killed": [*history.killed, (last["worker"], last["started"])]},
        "a process": {"running": [("build", "sleep")]},
        "a damaged store": {"damage": f"{key} is damaged"},
    }
    return [name for name, change in broken.items() if not violations(dataclasses.replace(history, **change))]
