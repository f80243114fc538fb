"""The tasks of a history: what each one is, what the agent does about it, and the clients that add them."""

import collections
import http.client
import json
import random
import subprocess
import threading
import time

# What is added: its key, its kind, the labels it needs, the keys of the tasks before it, and whether it lands.
Order = collections.namedtuple("Order", "key kind needs after land")
# An answer that a client got: the task has this id.
Accepted = collections.namedtuple("Accepted", "key task repeated")

# Shares of the kinds, of a hundred.
KINDS = {"instant": 55, "slow": 25, "corrected": 20}
LABELLED, DEPENDENT, LANDED, CANCELLED = 0.15, 0.2, 0.15, 0.03
# One test for all files, whose failure breaks it. It names the wrong file.
TEST = (
    'bad=; for f in out/*.txt; do [ ! -e "$f" ] || grep -qx done "$f" || { bad=1; echo "# wrong: $f"; }; done; '
    'echo 1..1; [ -z "$bad" ] && echo "ok 1 - files" || { echo "not ok 1 - files"; exit 1; }'
)
# How long a client waits for an answer, in seconds.
ANSWER_TIMEOUT = 8


def orders(seed, count):
    """Returns the tasks of a history."""
    choose = random.Random(seed)
    made = []
    for number in range(count):
        kind = choose.choices(list(KINDS), KINDS.values())[0]
        needs = ["gpu"] if choose.random() < LABELLED else []
        after = [choose.choice(made[-20:]).key] if made and choose.random() < DEPENDENT else []
        # What it depends on lands before it: that of a task that is cancelled never would.
        land = not after and choose.random() < LANDED
        made.append(Order(f"k{number:04}", kind, needs, after, land))
    return made


def title(key):
    return f"Write out/{key}.txt."


def script(orders):
    """Returns the answers of the agent, as a table of rules: the more special one first."""
    def write(key, text):
        return {"write_file": {"path": f"out/{key}.txt", "content": f"{text}\n"}}

    rules = []
    for order in orders:
        if order.kind == "corrected":
            rules.append((f"wrong: out/{order.key}.txt", [write(order.key, "done")]))
            rules.append((title(order.key), [write(order.key, "to do")]))
        elif order.kind == "slow":
            rules.append((title(order.key), [write(order.key, "done"), {"wait_ms": 2000}]))
        else:
            rules.append((title(order.key), [write(order.key, "done")]))
    turns = [{"when": {"contains": text}, "or_more": True, "answer": answer} for text, answer in rules]
    return {"turns": [*turns, {"or_more": True, "answer": [{"text": "Written."}]}]}


class Unknown(Exception):
    """The request may have been executed or not."""


class Client:
    """Adds tasks to a server over HTTP, or on the command line of a machine."""

    def __init__(self, servers, token, command):
        self.servers, self.token, self.command = servers, token, command

    def add(self, order, after, way):
        """Returns the id of the task, and whether it existed."""
        if way == len(self.servers):
            return self.add_by_command(order, after)
        body = {"title": title(order.key), "needs": order.needs, "dependencies": after, "land": order.land, "max_attempts": 100}
        status, answer = self.request(self.servers[way], "POST", "/api/v1/tasks", body, {"Idempotency-Key": order.key})
        if status not in (200, 201):
            raise Unknown(f"{status}: {answer}")
        return answer["id"], status == 200

    def add_by_command(self, order, after):
        words = ["task", "add", title(order.key), "--key", order.key, "--attempts", "100", "--json"]
        for task in after:
            words += ["--after", str(task)]
        for label in order.needs:
            words += ["--needs", label]
        done = self.command([*words, *(["--land"] if order.land else [])])
        if done.returncode != 0:
            raise Unknown(done.stdout + done.stderr)
        return json.loads(done.stdout)["id"], False

    def request(self, server, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(server, timeout=ANSWER_TIMEOUT)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"} | (headers or {})
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "null")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unknown(str(error)) from error
        finally:
            connection.close()


class Adding(threading.Thread):
    """Adds the tasks, spread over a time, and repeats what has no answer: with the same key, at any server."""

    def __init__(self, client, orders, seconds, seed, stopped):
        super().__init__(daemon=True)
        self.client, self.orders, self.stopped = client, orders, stopped
        self.pause = seconds / max(1, len(orders))
        self.random = random.Random(seed)
        self.accepted = []
        # Tasks whose cancellation was acknowledged.
        self.cancelled = []
        self.unanswered = 0
        self.problems = []

    def run(self):
        started = time.monotonic()
        ids = {}
        for number, order in enumerate(self.orders):
            time.sleep(max(0, started + number * self.pause - time.monotonic()))
            task = self.add(order, [ids[key] for key in order.after])
            if task is None:
                return
            ids[order.key] = task
            if not order.land and self.random.random() < CANCELLED and not any(order.key in other.after for other in self.orders):
                self.cancel(task)

    def add(self, order, after):
        while not self.stopped.is_set():
            way = self.random.randrange(len(self.client.servers) + 1)
            try:
                task, repeated = self.client.add(order, after, way)
            except (Unknown, subprocess.TimeoutExpired) as error:
                self.unanswered += 1
                self.note(order.key, error)
                time.sleep(0.5)
                continue
            self.accepted.append(Accepted(order.key, task, repeated))
            # Some clients repeat a request although it was answered.
            if self.random.random() > 0.1:
                return task
        return None

    def cancel(self, task):
        for server in self.client.servers:
            try:
                status, _ = self.client.request(server, "POST", f"/api/v1/tasks/{task}/cancel", {})
            except Unknown:
                continue
            if status == 200:
                self.cancelled.append(task)
                return

    def note(self, key, error):
        self.problems.append(f"{key}: {str(error).strip()[:300]}")


def seen(event):
    """Returns what is compared of an event."""
    return event["seq"], event.get("task_id"), event["type"], event.get("status")


class Watching(threading.Thread):
    """Reads the events of all tasks from the servers in turn, always after the last one that it has."""

    def __init__(self, client, stopped):
        super().__init__(daemon=True)
        self.client, self.stopped = client, stopped
        self.last = 0
        self.seen = []

    def run(self):
        number = 0
        while not self.stopped.is_set():
            number += 1
            self.read(self.client.servers[number % len(self.client.servers)])
            time.sleep(0.3)

    def read(self, server):
        """Reads once. Returns whether there was anything new."""
        try:
            status, answer = self.client.request(server, "GET", f"/api/v1/events?after={self.last}&limit=500")
        except Unknown:
            return True
        if status != 200:
            return True
        found = answer["events"] if isinstance(answer, dict) else answer
        for event in found:
            self.seen.append(seen(event))
            self.last = event["seq"]
        return bool(found)
