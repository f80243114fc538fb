"""The machine that is measured: processes, their CPU time and memory, and whether anything else runs."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# The share of all cores that may be in use before a measurement, and how long to wait for that.
QUIET_SHARE = 0.08
QUIET_WAIT_SECONDS = 600
# The profile of what is measured but for the program itself.
MEASURED = "measured"


class Problem(Exception):
    """What prevents a measurement, as a sentence for the user."""


class Bench:
    """One run: its options, its temporary directory and the processes that it started."""

    def __init__(self, root, rounds, busy, binary, write=False):
        self.root = root
        self.rounds = rounds
        self.busy = busy
        self.write = write
        self.binary = binary
        self.cache = root / ".cache" / "bench"
        self.target = Path(os.environ.get("CARGO_TARGET_DIR") or root / "target")
        # Not in the system's directory for temporary files, which is private in a sandbox.
        self.target.mkdir(parents=True, exist_ok=True)
        self.dir = Path(tempfile.mkdtemp(prefix="bench-", dir=self.target))
        self.home = self.dir / "home"
        self.home.mkdir()
        self.running = []
        # Removed at the end.
        self.dirs = [self.dir]

    def windlass(self):
        """Returns the path of a release build."""
        if self.binary is None:
            self.cargo("build", "--release", "-q", "-p", "windlass", "-p", "windlass-sandbox")
            self.binary = self.target / "release" / "windlass"
        return self.binary.resolve()

    def cargo(self, *args):
        """Runs cargo with the program's own settings, and returns its output."""
        done = subprocess.run(["cargo", *args], cwd=self.root, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise Problem(f"`cargo {' '.join(args)}` failed")
        return done.stdout

    def build(self, *what):
        """Builds what is measured but for the program. The workspace as a whole, so that all parts share their dependencies."""
        self.cargo("build", "--profile", MEASURED, "-q", "--workspace", *what)

    def benchmark(self, name, *args):
        """Runs a benchmark, and returns its output."""
        return self.cargo("bench", "--profile", MEASURED, "-q", "--workspace", "--bench", name, *args)

    def program(self, name):
        """Builds a benchmark that is a program, and returns its path."""
        self.build("--bench", name)
        found = [path for path in (self.target / MEASURED / "deps").glob(f"{name}-*") if os.access(path, os.X_OK)]
        found = [path for path in found if path.suffix == ""]
        if not found:
            raise Problem(f"cargo did not build the benchmark {name}")
        return max(found, key=lambda path: path.stat().st_mtime)

    def environment(self, **more):
        """Returns the environment of a contender: without the user's settings and keys."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.dir), **more}

    def start(self, command, core=None, env=None, cwd=None, stdin=None):
        """Starts a process in a group of its own, on one core if asked for. Its output goes to `process.log`."""
        if core is not None:
            command = ["taskset", "-c", str(core), *command]
        log = self.dir / f"log-{len(self.running)}"
        with open(log, "wb") as out:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=stdin or subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=env or self.environment(),
                cwd=cwd or self.dir,
                start_new_session=True,
            )
        process.log = log
        self.running.append(process)
        return process

    def stop(self, process):
        """Kills a process with its group."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def run(self, command, **more):
        """Runs a command to its end, and returns its output. A failure is a problem."""
        more.setdefault("env", self.environment())
        done = subprocess.run(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
        )
        if done.returncode:
            shown = " ".join(str(part) for part in command)[:200]
            raise Problem(f"`{shown}` failed: {(done.stderr or done.stdout)[-600:]}")
        return done.stdout

    def wait_until_quiet(self):
        """Waits until nothing else uses the cores."""
        if self.busy:
            return
        until = time.monotonic() + QUIET_WAIT_SECONDS
        while (share := busy_share(2)) > QUIET_SHARE:
            if time.monotonic() > until:
                raise Problem(f"other processes use {share:.0%} of the cores: stop them, or use --busy")

    def close(self):
        for process in self.running:
            self.stop(process)
        for path in self.dirs:
            shutil.rmtree(path, ignore_errors=True)


def busy_share(seconds):
    """Returns the share of all cores that is in use, measured for some seconds."""

    def sample():
        fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    before = sample()
    time.sleep(seconds)
    after = sample()
    return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])


def tree(pid):
    """Returns a process and its descendants."""
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                todo += [int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
        except OSError:
            pass
    return found


def cpu_seconds(pid):
    """Returns the CPU seconds of a process tree so far, with those of its ended children."""
    total = 0
    for member in tree(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15])
    return total / TICKS


def memory_mb(pid):
    """Returns the resident memory of a process tree."""
    total = 0
    for member in tree(pid):
        try:
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * PAGE
        except OSError:
            pass
    return total / 2**20


def wait_for(process, find, seconds=60):
    """Waits until `find`, called with the output so far, returns something, and returns that."""
    until = time.monotonic() + seconds
    while not (found := find(process.log.read_text(errors="replace"))):
        if process.poll() is not None or time.monotonic() > until:
            raise Problem(f"`{process.args[-1]}` did not start: {process.log.read_text(errors='replace')[-600:]}")
        time.sleep(0.05)
    return found
