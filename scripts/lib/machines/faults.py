"""Which faults happen when: a list that depends on the seed alone."""

import collections
import random

# A fault begins at `at` and ends at `until`, in seconds since the start.
Fault = collections.namedtuple("Fault", "at until kind machine")

# Each kind with its weight, its shortest and its longest time.
KINDS = {
    "cut worker": (4, 3, 15),
    "cut database": (2, 2, 10),
    "cut standby": (1, 2, 8),
    "cut remote": (2, 3, 12),
    "kill worker": (6, 0.2, 3),
    "kill server": (3, 0.2, 3),
    "kill machine": (2, 0.5, 3),
    "stop worker": (4, 2, 15),
    "stop server": (1, 1, 6),
    "crash database": (1, 1, 1),
    "wrong clock": (3, 3, 20),
    "slow network": (3, 5, 20),
    "full disk": (2, 3, 10),
    "promote": (1, 5, 5),
}
# Only one of them at a time: they need both machines of the database.
OF_DATABASE = {"cut database", "cut standby", "crash database", "promote"}


def schedule(seed, seconds, workers, servers, small):
    """Returns the faults of a history. Machines in `small` have a disk that a test can fill."""
    choose = random.Random(seed ^ 0xFA17)
    faults = [promotion(choose, seconds)] if seconds > 20 else []
    at = choose.uniform(1, 3)
    while at < seconds:
        kind = choose.choices(list(KINDS), [weight for weight, _, _ in KINDS.values()])[0]
        _, shortest, longest = KINDS[kind]
        machine = choose.choice(candidates(kind, workers, servers, small))
        until = min(at + choose.uniform(shortest, longest), seconds)
        fault = Fault(round(at, 2), round(until, 2), kind, machine)
        if not any(conflict(fault, other) for other in faults):
            faults.append(fault)
        at += choose.uniform(0.5, 5)
    return sorted(faults)


def promotion(choose, seconds):
    """Every history of some length has a promotion."""
    at = round(choose.uniform(0.3, 0.6) * seconds, 2)
    return Fault(at, at + KINDS["promote"][2], "promote", "database")


def candidates(kind, workers, servers, small):
    if kind in OF_DATABASE:
        return ["database"]
    if kind == "cut remote":
        return ["git"]
    if "server" in kind:
        return servers
    return small if kind == "full disk" else workers


def conflict(one, other):
    """Two faults of the same machine, or of the database, do not overlap. The database then gets time to recover."""
    if one.kind in OF_DATABASE and other.kind in OF_DATABASE:
        pause = 15 if "promote" in (one.kind, other.kind) else 5
    elif one.machine == other.machine:
        pause = 0
    else:
        return False
    return one.at < other.until + pause and other.at < one.until + pause
