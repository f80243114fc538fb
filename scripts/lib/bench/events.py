"""Events through a handle beside a bare channel, and the parsers of agents' output beside plain JSON."""

import re

from .report import Table

UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}


def run(bench):
    bench.wait_until_quiet()
    handle = measure(bench, "handle")
    result = Table("handle", "10,000 events of a turn", ["ms", "beside a bare channel"])
    for name, label in (("bare_channel", "bare channel"), ("agent_handle", "**agent handle**")):
        ratios = [time / bare for time, bare in zip(handle[name]["ms"], handle["bare_channel"]["ms"])]
        result.add(label, handle[name]["ms"], ratios)
    yield result
    parsers = measure(bench, "parsers")
    result = Table("parsers", "Parsers of agents' output", ["MB/s", "beside plain JSON"])
    base = parsers["json_only"]["rate"]
    for name, label in (("json_only", "`serde_json::Value`"), *((name, f"**{name}**") for name in parsers)):
        if label == "**json_only**":
            continue
        ratios = [rate / one for rate, one in zip(parsers[name]["rate"], base)]
        result.add(label, parsers[name]["rate"], ratios)
    yield result


def measure(bench, name):
    """Runs a benchmark in rounds. Returns the median time and rate of each of its functions."""
    found = {}
    for _ in range(bench.rounds):
        output = bench.benchmark(name)
        for function, figures in parse(output).items():
            times = found.setdefault(function, {"ms": [], "rate": []})
            times["ms"].append(figures["ms"])
            times["rate"].append(figures.get("rate"))
    return found


def parse(output):
    """Parses divan's table: a line of times for each function, and a line of rates below it."""
    found, last = {}, None
    for line in output.splitlines():
        columns = re.split(r"\s+│\s+", line)
        if len(columns) < 4:
            continue
        if named := re.match(r"[├╰]─ (\w+)\s", line):
            value, unit = columns[2].split()[:2]
            last = found[named[1]] = {"ms": float(value) * UNITS[unit]}
        elif last is not None and (rate := re.match(r"([\d.]+) (K|M|G)?\w+/s", columns[2])):
            last["rate"] = float(rate[1]) * {"K": 1e-3, "M": 1.0, "G": 1e3, None: 1e-6}[rate[2]]
    return found
