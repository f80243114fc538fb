"""Machines as namespaces: each has its own network, mounts, processes, host name and monotonic clock."""

import glob
import os
import pathlib
import signal
import subprocess
import sys
import time

# No address of these leaves the namespace of the bridge.
BRIDGE = "10.77.0.1"
PREFIX = 24
# Enters the namespaces of a process.
ENTER = ["nsenter", "--net", "--mount", "--uts", "--pid", "--time", "--target"]
# The first process of a machine: it only waits for processes that have lost their parent.
INIT = """
import os, signal, socket, sys
socket.sethostname(sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
print("ready", flush=True)
while True:
    signal.sigwait({signal.SIGCHLD})
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


class Failure(Exception):
    """What was not as it must be."""


def call(command, timeout=60, codes=(0,), **options):
    """Runs a command, and returns its output."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=timeout, **options,
    )
    if done.returncode not in codes:
        raise Failure(f"`{' '.join(command)}` exited with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def wait_until(what, condition, timeout=60):
    """Waits until a condition holds, and returns its value."""
    end = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failure(f"after {timeout} s: {what}")
        time.sleep(0.05)


class Network:
    """The bridge, and a cable for each machine. The caller is in a network namespace of its own."""

    def __init__(self, work, seed, names):
        self.work = work
        for words in (
            ["link", "set", "lo", "up"],
            # With an address of its own, the bridge does not take over that of a machine.
            ["link", "add", "br0", "address", "02:77:00:00:00:01", "type", "bridge"],
            ["addr", "add", f"{BRIDGE}/{PREFIX}", "dev", "br0"],
            ["link", "set", "br0", "up"],
        ):
            call(["ip", *words])
        script = pathlib.Path(__file__).with_name("cable.py")
        self.cables = subprocess.Popen(
            [sys.executable, script, str(seed), *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.cables.stdout.readline() != "ready\n":
            raise Failure("the cables do not start: this needs root and /dev/net/tun")
        for name in names:
            call(["ip", "link", "set", f"c-{name}", "master", "br0", "up"])

    def cable(self, *words):
        self.cables.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.cables.stdin.flush()


def own_pid(pid):
    """Returns the number of a process in its innermost namespace."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    [pids] = [line for line in status.splitlines() if line.startswith("NSpid:")]
    return int(pids.split()[-1])


class Process:
    """A process on a machine."""

    def __init__(self, popen):
        self.popen = popen
        found = wait_until("the process has started", lambda: popen.poll() is not None or children(popen.pid))
        # `nsenter` waits for the process proper.
        self.pid = found[0] if isinstance(found, list) else None
        # Its number on the machine.
        self.own_pid = own_pid(self.pid) if self.pid else None
        # It was ended on purpose.
        self.killed = False

    def signal(self, number):
        """Sends a signal, and reports whether the process still ran."""
        if self.pid is None or self.popen.poll() is not None:
            return False
        try:
            os.kill(self.pid, number)
            if number == signal.SIGCONT:
                # It stops with its child.
                self.popen.send_signal(number)
        except ProcessLookupError:
            return False
        return True

    def kill(self):
        self.killed = True
        self.signal(signal.SIGKILL)
        self.signal(signal.SIGCONT)
        self.popen.wait()

    def stop(self, timeout):
        """Ends the process as `systemctl stop` does, and returns its exit code. Kills it if it does not end in time, and returns `None`."""
        self.killed = True
        self.signal(signal.SIGTERM)
        # A process that is paused does not end.
        self.signal(signal.SIGCONT)
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def is_running(self):
        return self.popen.poll() is None


class Machine:
    """One machine. What it has on disk is in one directory, at a path of its own; it cannot see those of the others."""

    def __init__(self, network, name, number, home):
        self.network = network
        self.name = name
        self.address = f"10.77.0.{number}"
        # Where the machine has its files, and where they are outside of it.
        self.home = home
        self.files = network.work / name
        self.files.mkdir()
        # Every machine has a monotonic clock of its own.
        clock = str(1000 * number)
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "--time", "--monotonic", clock,
             "--boottime", clock, sys.executable, "-c", INIT, name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )
        if self.holder.stdout.readline() != "ready\n":
            raise Failure(f"{name}: no namespaces; this needs root")
        self.init = children(self.holder.pid)[0]
        call(["ip", "link", "set", f"e-{name}", "netns", self.init, "name", "eth0"])
        self.run(["sh", "-euc", f"""
            mount --bind '{self.files}' '{home}'
            mount -t tmpfs tmpfs '{network.work}'
            mount -t tmpfs -o mode=1777 tmpfs /dev/shm
            mount -t tmpfs -o mode=755 tmpfs /run
            ip link set lo up
            ip addr add {self.address}/{PREFIX} dev eth0
            ip link set eth0 up
        """])
        (self.files / "clock").write_text("+0\n")

    def enter(self, command, env=None, cwd="/"):
        variables = [f"{key}={value}" for key, value in (env or {}).items()]
        path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return [str(word) for word in [*ENTER, self.init, "--", "env", "-i", "-C", cwd, path, *variables, *command]]

    def run(self, command, env=None, cwd="/", **options):
        return call(self.enter(command, env, cwd), **options)

    def spawn(self, command, log, env=None, cwd="/"):
        with (self.network.work / f"{log}.log").open("a") as file:
            return Process(subprocess.Popen(self.enter(command, env, cwd), stdin=subprocess.DEVNULL, stdout=file, stderr=file))

    def processes(self):
        """Returns the command lines of all processes but the first, each with its state."""
        found = self.run(["ps", "-e", "-o", "pid=,ppid=,etimes=,stat=,wchan=,args="])
        rows = [line.split(None, 5) for line in found.splitlines()]
        return [
            f"{args} (process {pid} of {ppid}, {seconds} s old, {state}, {waits_in})"
            for pid, ppid, seconds, state, waits_in, args in rows if pid != "1" and "ps -e -o" not in args
        ]

    def kill_all(self):
        """Kills every process, as a power failure does."""
        self.run(["sh", "-c", "kill -9 -1"], codes=range(256))

    def skew(self, seconds):
        """Sets the wall clock of the processes that were started with `clock`."""
        (self.files / "clock").write_text(f"{seconds:+d}\n")

    def clock(self):
        """Returns the environment with which a process uses the wall clock of this machine."""
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not library:
            raise Failure("libfaketime is missing: run scripts/setup --only machines")
        return {
            "LD_PRELOAD": library[0], "FAKETIME_TIMESTAMP_FILE": f"{self.home}/clock", "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1",
        }
