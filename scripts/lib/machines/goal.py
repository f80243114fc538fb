"""One goal of four tasks in a diamond: the real Codex does two of them on one machine, and the real Claude Code two on another."""

import json

from . import workload
from .network import Failure, wait_until
from .site import PLAYER

MODEL = "http://127.0.0.1:4000"
# The agent of each machine, on a scripted model of the same machine. The last one has neither agent.
AGENTS = {
    "build-1": f"""
[agents.codex]
backend = "codex"
bin = "PROGRAMS/codex"
transport = "exec"
model = "gpt-5.5"
endpoint = "{MODEL}"
api_key_env = "MODEL_KEY"
permissions = "allow"
""",
    "build-2": f"""
[agents.claude]
backend = "claude"
bin = "PROGRAMS/claude"
model = "claude-sonnet-4-5"
endpoint = "{MODEL}"
api_key_env = "MODEL_KEY"
permissions = "allow"
""",
    "build-3": PLAYER,
}
MACHINE_OF = {"codex": "build-1", "claude": "build-2"}
# Each task with its agent and the tasks before it.
DIAMOND = {"base": ("codex", []), "left": ("claude", ["base"]), "right": ("codex", ["base"]), "top": ("claude", ["left", "right"])}
# Until all of them have landed, in seconds.
TIMEOUT = 600


def script():
    """Returns the answers of both models. A later task is first: its prompt may name those before it."""
    turns = []
    for name in reversed(DIAMOND):
        answer = [{"write_file": {"path": f"out/{name}.txt", "content": "done\n"}}]
        turns.append({"when": {"contains": workload.title(name)}, "or_more": True, "answer": answer})
    return {"turns": [*turns, {"or_more": True, "answer": [{"text": "Written."}]}]}


def run(site, programs):
    """Runs the goal, and returns a sentence for everything that must not be."""
    # The agents are programs of others, which need not bear a wrong clock.
    site.clocks = False
    for builder in site.builders.values():
        builder.variables = {"MODEL_KEY": "not-a-real-key"}
    # No agent is in the path of a machine: each has the one that it is configured with.
    agents = {name: text.replace("PROGRAMS", str(programs)) for name, text in AGENTS.items()}
    site.start(30, agents, script())
    models = [start_model(site.builders[name]) for name in MACHINE_OF.values()]
    ids = {}
    for name, (agent, after) in DIAMOND.items():
        words = ["task", "add", workload.title(name), "--agent", agent, "--land", "--json"]
        for other in after:
            words += ["--after", ids[other]]
        ids[name] = json.loads(site.builders["build-1"].windlass(*words))["id"]
    try:
        wait_until("all tasks have landed or one has failed", lambda: has_ended(site, len(ids)), TIMEOUT)
    except Failure as failure:
        shown = [site.builders["build-1"].windlass("task", "log", task, codes=range(256))[-1500:] for task in ids.values()]
        raise Failure("\n".join([str(failure), *shown])) from failure
    problems = site.stop()
    for model in models:
        model.kill()
    return [*problems, *check(site, ids)]


def has_ended(site, count):
    """Returns whether all tasks have landed. Fails if that cannot be any more."""
    failed = site.database.query("SELECT string_agg(output, '; ') FROM windlass.task WHERE status IN ('failed', 'blocked')")
    if failed:
        raise Failure(f"a task has ended: {failed}")
    return site.database.query("SELECT count(landed_commit) FROM windlass.task") == str(count)


def start_model(builder):
    words = builder.command("model", "--script", f"{builder.home}/script.json", "--listen", MODEL.removeprefix("http://"))
    return builder.machine.spawn(words, f"model-{builder.name}", builder.env(), builder.home)


def check(site, ids):
    attempts = site.database.rows("SELECT task_id, worker, ended FROM windlass.attempt ORDER BY task_id, number")
    order = site.database.rows("SELECT id FROM windlass.task ORDER BY landed_at, id")
    order = [row["id"] for row in order]
    for name, (agent, after) in DIAMOND.items():
        made = [attempt for attempt in attempts if attempt["task_id"] == ids[name]]
        if not made or not all(attempt["worker"].startswith(f"{MACHINE_OF[agent]}-") for attempt in made):
            yield f"{name} is for {agent}, and its attempts are {made}"
        if any(order.index(ids[other]) > order.index(ids[name]) for other in after):
            yield f"{name} landed before {after}"
        text = site.remote.git("show", f"main:out/{name}.txt", codes=range(256))
        if text != "done\n":
            yield f"main has another {name}: {text}"
    calls = [(site.work / f"model-{name}.log").read_text().count("POST ") for name in MACHINE_OF.values()]
    print(f"many-machines: {len(attempts)} attempts, {calls[0]} calls of Codex, {calls[1]} of Claude Code", flush=True)
    for name, line in site.running():
        yield f"{name} still runs: {line[:300]}"
