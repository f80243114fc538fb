"""Where the time of the hot paths goes: by part of the program, by function, and by the programs of a task."""

import re
import shutil

from . import chart, gateway
from .machine import MEASURED, Problem
from .report import Table
from .task import Project

# Of each path in crates/windlass/benches/counts.rs: how often it runs.
CASES = {"add": 5_000, "claim": 500}
# Claims of one run are few, because its tasks are added before.
REPEATS = {"add": 1, "claim": 10}
SAMPLES_PER_SECOND = 4_999
FUNCTIONS = 8
TASKS = 5
# The part of a function of the program is that of the first of these crates in its name.
PARTS = {
    "windlass": "Windlass",
    "hyper|hyper_util|http|http_body|http_body_util|httparse|axum|axum_core|tower|tower_http|matchit|reqwest|rustls|url": "HTTP",
    "serde|serde_core|serde_json|itoa|ryu|zmij": "JSON",
    "sqlx|sqlx_core|sqlx_sqlite|sqlx_postgres": "SQL driver",
    "tokio|tokio_util|tokio_stream|futures|futures_util|futures_core|futures_channel|mio|parking_lot|parking_lot_core|flume": "runtime",
}
ALLOCATOR = re.compile(r"malloc|calloc|realloc|cfree|free|mem(cpy|move|set|cmp)|_int_|unlink_chunk|tcache|brk|arena|__rust_(de|re)?alloc|__rdl_")
KERNEL, SQLITE, OTHER = "kernel", "SQLite", "other"
ALLOCATION = "allocator and copies"
COLUMNS = ["HTTP", "JSON", "Windlass", "runtime", "SQL driver", SQLITE, ALLOCATION, KERNEL, OTHER]


def run(bench):
    for tool in ("perf", "strace", "wrk"):
        if shutil.which(tool) is None:
            raise Problem(f"{tool} is missing: install it")
    profiles = dict(servers(bench))
    profiles.update(cases(bench))
    parts = Table("profile", "CPU time by part, % (windlass is built for `scripts/bench`)", COLUMNS)
    functions = Table("profile-functions", "The functions that take most, % of the CPU time", [str(rank + 1) for rank in range(FUNCTIONS)])
    for label, profile in profiles.items():
        shares = dict.fromkeys(COLUMNS, 0.0)
        for share, library, function in profile:
            shares[part(library, function)] += share
        parts.add(label, *(f"{shares[column]:.0f}" for column in COLUMNS))
        most = [(share, function) for share, library, function in profile if part(library, function) != KERNEL]
        functions.add(label, *(f"`{short(function)}` {share:.1f}" for share, function in sorted(most, reverse=True)[:FUNCTIONS]))
    yield parts
    yield functions
    yield programs(bench)


def servers(bench):
    """Returns the profile of a server that answers requests, for plain requests and for streams."""
    bench.build("--bin", "windlass", "--bin", "windlass-init")
    upstream = gateway.start_upstream(bench, bench.program("load"))
    program = bench.target / MEASURED / "windlass"
    server = gateway.windlass(bench, upstream, "profiled", program=program)
    for stream, label in ((False, "a plain request"), (True, f"a stream of {gateway.CHUNKS} chunks")):
        gateway.saturate(bench, server, stream)
        recorder = bench.start(["perf", "record", *recording(bench), "-p", server.process.pid, "sleep", gateway.WRK_SECONDS])
        gateway.saturate(bench, server, stream)
        recorder.wait()
        yield label, read(bench)
    bench.stop(server.process)


def cases(bench):
    """Returns the profiles of adding tasks, and of claiming and completing them, on SQLite."""
    program = bench.program("counts")
    for case, label in (("add", "a task added, SQLite"), ("claim", "a task claimed and completed, SQLite")):
        loop = f'for run in $(seq {REPEATS[case]}); do "$0" {case} {CASES[case]}; done'
        bench.run(["perf", "record", *recording(bench), "sh", "-c", loop, program], timeout=600)
        yield label, read(bench)


def recording(bench):
    return ["-q", "-e", "cpu-clock", "-F", SAMPLES_PER_SECOND, "-o", bench.dir / "perf.data"]


def read(bench, fields="overhead,dso,sym"):
    """Returns the lines of a profile: the share in percent, and the fields."""
    report = ["perf", "report", "-i", bench.dir / "perf.data", "--stdio", "-q", "--no-children", "-F", fields, "-t", "^"]
    lines = bench.run([*report, "--percent-limit", "0"], timeout=600).splitlines()
    rows = [[column.strip() for column in line.split("^")] for line in lines if "%" in line]
    return [(float(share.rstrip("%")), *columns) for share, *columns in rows]


def part(library, function):
    """Returns the part of the program that a function belongs to."""
    if library.startswith("[") or function.startswith("[k]"):
        return KERNEL
    name = function.removeprefix("[.] ")
    if ALLOCATOR.search(name) and "::" not in name:
        return ALLOCATION
    places = []
    for crates, label in PARTS.items():
        pattern = r"\bwindlass_?\w*::" if label == "Windlass" else rf"\b({crates})::"
        if found := re.search(pattern, name):
            places.append((found.start(), label))
    if places:
        return min(places)[1]
    is_c = "::" not in name and library.startswith(("windlass", "counts"))
    return SQLITE if is_c and not name.startswith(("ring_", "aes_", "sha", "0x")) else OTHER


def short(function):
    """Returns the name of a function without its hash and its types."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", function.removeprefix("[.] "))
    trait = re.match(r"<(?:&mut |&)?([\w:]+)[^>]*(?:<.*>)? as ([\w:]+).*>::(\w+)", name)
    if trait:
        name = f"{trait[1]}::{trait[3]}"
    while (plain := re.sub(r"<[^<>]*>", "", name)) != name:
        name = plain
    return "::".join(name.replace("::{{closure}}", "").strip(":").split("::")[-3:])


def programs(bench):
    """Returns the CPU time of a task by program, and draws when each of its programs runs."""
    project = Project(bench, "profile")
    worker = project.prepare("bubblewrap", "profiled", TASKS)
    bench.run(["perf", "record", *recording(bench), *worker], cwd=project.path, env=project.env)
    shares = {}
    for share, command, library in read(bench, "overhead,comm,dso"):
        name = command if command in ("git", "bwrap", "unshare", "sh") else "windlass"
        user, kernel = shares.setdefault(name, [0.0, 0.0])
        in_kernel = library.startswith("[")
        shares[name] = [user + share * (not in_kernel), kernel + share * in_kernel]
    result = Table("profile-task", "CPU time of a task under bubblewrap by program, %", ["in the program", "in the kernel"])
    for name, (user, kernel) in sorted(shares.items(), key=lambda item: -sum(item[1])):
        result.add(name, f"{user:.1f}", f"{kernel:.1f}")
    path = bench.root / "docs" / "growth" / "task-waterfall.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(chart.waterfall("The programs of a task under bubblewrap", last_task(bench, project)))
    return result


def last_task(bench, project):
    """Returns the programs of the last task of several: the name, the start and the end of each in milliseconds."""
    one, many = (traced(bench, project, tasks) for tasks in (1, TASKS))
    count = round((len(many) - len(one)) / (TASKS - 1))
    first = len(many) - count
    # A task begins with a sandbox.
    while many[first][0] != "unshare":
        first -= 1
    bars = many[first:]
    first = bars[0][1]
    return [(name, (start - first) * 1000, (end - first) * 1000) for name, start, end in bars]


def traced(bench, project, tasks):
    """Returns the programs that a worker starts for tasks, in the order of their start."""
    worker = project.prepare("bubblewrap", f"{tasks} traced", tasks)
    trace = bench.dir / "trace"
    command = ["strace", "-f", "--seccomp-bpf", "-ttt", "-s", "60", "-o", trace, "-e", "trace=execve", *worker]
    bench.run(command, cwd=project.path, env=project.env)
    started, bars = {}, []
    for line in trace.read_text().splitlines():
        process, at, what = line.split(maxsplit=2)
        if found := re.match(r'execve\("[^"]*", \[(.*?)\].* = 0', what):
            # A program that replaces another is a bar of its own.
            if process in started:
                bars.append((*started[process], float(at)))
            started[process] = (title(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1])), float(at))
        elif what.startswith("+++") and process in started:
            bars.append((*started.pop(process), float(at)))
    return sorted(bars, key=lambda bar: bar[1])[1:]


def title(args):
    """Returns what to call a program: its name, and the command of git."""
    name = args[0].rsplit("/", 1)[-1]
    if name != "git":
        return name
    settings = {at + 1 for at, arg in enumerate(args) if arg in ("-c", "-C")}
    commands = [arg for at, arg in enumerate(args[1:], 1) if not arg.startswith("-") and at not in settings]
    return f"git {commands[0]}" if commands else name
