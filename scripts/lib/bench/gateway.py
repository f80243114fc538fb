"""The gateway beside other gateways, on the same upstream: plain requests and streams, saturated and at a fixed rate."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from . import machine, peers
from .contender import GATEWAY_CORE, OTHER_CORE, Contender
from .machine import Problem
from .report import Table

CHUNKS = 20
RATE = 50
RATE_SECONDS = 8
WRK_SECONDS = 4
CONNECTIONS = 8

TEXT = "a" * 1000


def run(bench):
    for tool in ("wrk", "taskset"):
        if shutil.which(tool) is None:
            raise Problem(f"{tool} is missing: install it")
    load = bench.program("load")
    upstream = start_upstream(bench, load)
    contenders = [start(bench, upstream) for start in (direct, windlass, *peers.GATEWAYS)]
    bench.wait_until_quiet()
    for number in range(bench.rounds + 1):
        for contender in contenders:
            saturate(bench, contender, False)
            saturate(bench, contender, True)
            at_rate(bench, load, contender, False)
            at_rate(bench, load, contender, True)
        if number == 0:
            # The first round warms up.
            for contender in contenders:
                contender.samples.clear()
    for contender in contenders:
        if contender.process:
            contender.note("memory", machine.memory_mb(contender.process.pid))
    yield table(contenders)


def start_upstream(bench, load):
    process = bench.start([load, "upstream", CHUNKS, 0], core=OTHER_CORE)
    return machine.wait_for(process, lambda log: log.strip() if "http" in log else None)


def direct(bench, upstream):
    return Contender("direct", upstream, "scripted", "scripted")


def windlass(bench, upstream, name="gateway", wrapper=(), program=None):
    program = program or bench.windlass()
    project, config, database = (bench.dir / f"{name}{end}" for end in ("", ".toml", ".db"))
    bench.run(["git", "init", "-q", project])
    config.write_text(
        f'[agents.model]\nbackend = "openai"\nendpoint = "{upstream}/v1"\nmodel = "scripted"\n'
        f'api_key_env = "UPSTREAM_KEY"\n[gateway]\nconcurrency = 2000\n[store]\nurl = "sqlite:{database}"\n'
    )
    process = bench.start(
        [*wrapper, program, "--config", config, "serve", "--listen", "127.0.0.1:0", "--no-worker"],
        core=GATEWAY_CORE,
        cwd=project,
        env=bench.environment(UPSTREAM_KEY="sk-0123456789abcdef"),
    )
    url = machine.wait_for(process, lambda log: re.search(r"http://127\.0\.0\.1:\d+", log))[0]
    token = next(Path(bench.home).rglob("server-token")).read_text().strip()
    return Contender("**windlass serve**", url, token, "model", process)


def body(contender, stream):
    message = {"role": "user", "content": TEXT}
    return json.dumps({"model": contender.model, "stream": stream, "messages": [message]}, separators=(",", ":"))


def saturate(bench, contender, stream):
    """Sends as many requests as the server answers, and notes their number and its CPU time for each."""
    script = bench.dir / "request.lua"
    headers = {"Authorization": f"Bearer {contender.token}", "Content-Type": "application/json", **dict(contender.headers)}
    lines = [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in headers.items()]
    script.write_text("\n".join(['wrk.method = "POST"', f"wrk.body = '{body(contender, stream)}'", *lines]))
    before = machine.cpu_seconds(contender.process.pid) if contender.process else 0
    command = ["taskset", "-c", str(OTHER_CORE), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{WRK_SECONDS}", "-s", script]
    output = bench.run([*command, contender.url])
    after = machine.cpu_seconds(contender.process.pid) if contender.process else 0
    if "Non-2xx" in output:
        if contender.name.startswith("**"):
            raise Problem(f"{contender.name} answered with errors: {output}")
        # A peer that fails has no figure.
        return
    count = int(re.search(r"(\d+) requests in", output)[1])
    kind = "stream" if stream else "plain"
    contender.note(f"{kind} /s", float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]))
    contender.note(f"{kind} cpu", (after - before) * 1000 / count if contender.process and count else None)


def at_rate(bench, load, contender, stream, rate=RATE, seconds=RATE_SECONDS):
    """Sends requests at a fixed rate, and notes how long they take."""
    command = [load, "rate", contender.url, contender.token, contender.model, str(stream).lower(), rate, seconds]
    headers = "".join(f"{name}: {value}\r\n" for name, value in contender.headers)
    env = bench.environment(LOAD_HEADERS=headers)
    try:
        output = bench.run(["taskset", "-c", str(OTHER_CORE), *command], env=env, timeout=60)
    except (Problem, subprocess.TimeoutExpired):
        # A server that cannot keep up refuses, or never ends.
        return
    times = json.loads(output)
    which = ["first_p50", "first_p99"] if stream else ["last_p50", "last_p99"]
    for measure in which:
        contender.note(f"{'stream' if stream else 'plain'} {measure}", times[measure])


def measures(chunks):
    """Returns the columns of a table, and what they show."""
    return {
        "plain, /s": "plain /s",
        "CPU, ms": "plain cpu",
        f"stream of {chunks} chunks, /s": "stream /s",
        "CPU, ms ": "stream cpu",
        f"plain at {RATE}/s, p50 ms": "plain last_p50",
        "p99": "plain last_p99",
        f"first byte of a stream at {RATE}/s, p50 ms": "stream first_p50",
        "p99 ": "stream first_p99",
    }


def table(contenders):
    columns = {**measures(CHUNKS), "MB": "memory"}
    result = Table("gateway", "Gateway on one core", list(columns))
    for contender in contenders:
        result.add(contender.name, *(contender.samples.get(measure, []) for measure in columns.values()))
    return result
