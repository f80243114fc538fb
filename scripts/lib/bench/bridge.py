"""The bridge beside no bridge and LiteLLM, on the same upstream: requests, streams, and 1,000 streams at once."""

import subprocess

from . import machine, peers
from .contender import GATEWAY_CORE, Contender
from .gateway import CHUNKS, at_rate, direct, measures, saturate, start_upstream
from .report import Table

STREAMS = 1000
STREAM_PACE_MS = 500


def run(bench):
    load = bench.program("load")
    upstream = start_upstream(bench, load)
    starts = (direct, bridge, peers.litellm)
    contenders = [start(bench, upstream) for start in starts]
    bench.wait_until_quiet()
    for number in range(bench.rounds + 1):
        for contender in contenders:
            for stream in (False, True):
                saturate(bench, contender, stream)
                at_rate(bench, load, contender, stream)
        if number == 0:
            # The first round warms up.
            for contender in contenders:
                contender.samples.clear()
    stop(bench, contenders)
    hold_streams(bench, load, contenders, starts)
    table = Table("bridge", "The bridge on one core", [*measures(CHUNKS), "MB", f"MB with {STREAMS:,} streams"])
    for contender in contenders:
        columns = [*measures(CHUNKS).values(), "memory", "streams"]
        table.add(contender.name, *(contender.samples.get(column, []) for column in columns))
    yield table


def bridge(bench, upstream, name="bridge"):
    program = bench.program("bridge")
    database = bench.dir / f"{name}.db"
    process = bench.start([program, f"{upstream}/v1", database], core=GATEWAY_CORE, stdin=subprocess.PIPE)
    line = machine.wait_for(process, lambda log: log.split() if "\n" in log else None)
    return Contender("**the bridge**", line[0].removesuffix("/v1"), line[1], "scripted", process)


def stop(bench, contenders):
    for contender in contenders:
        if contender.process:
            contender.note("memory", machine.memory_mb(contender.process.pid))
            bench.stop(contender.process)


def hold_streams(bench, load, contenders, starts):
    """Notes the memory of each with many open streams, from a new process."""
    process = bench.start([load, "upstream", CHUNKS, STREAM_PACE_MS])
    upstream = machine.wait_for(process, lambda log: log.strip() if "http" in log else None)
    for contender, start in zip(contenders[1:], starts[1:], strict=True):
        server = start(bench, upstream) if start is not bridge else bridge(bench, upstream, "bridge-streams")
        client = bench.start([load, "hold", server.url, server.token, server.model, STREAMS], stdin=subprocess.PIPE)
        machine.wait_for(client, lambda log: "open" in log)
        contender.note("streams", machine.memory_mb(server.process.pid))
        bench.stop(client)
        bench.stop(server.process)
    bench.stop(process)
