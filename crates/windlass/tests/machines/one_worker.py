"""Checks that scripts/lib/machines runs at most one worker on a machine, and that each ends, with a fake program instead of Windlass."""

import pathlib
import signal
import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "scripts/lib"))
from machines import site as sites  # noqa: E402
from machines.faults import Fault  # noqa: E402
from machines.injector import Injector  # noqa: E402
from machines.network import Process, wait_until  # noqa: E402

NAME = "build-3"
# Runs a program as `nsenter` does: as a child, with its exit code.
PARENT = ["sh", "-c", '"$@"; exit $?', "sh"]
# Ends when it is asked to, and says when it can be asked.
POLITE = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"
# Ends only when it is killed.
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
# All that were made.
MACHINES = []


class FakeMachine:
    """A machine without namespaces that runs the same program for every command."""

    def __init__(self, program):
        self.program = program
        self.files = pathlib.Path("/nonexistent")
        self.spawned = []
        MACHINES.append(self)

    def run(self, *_, **__):
        return "machine\n"

    def spawn(self, *_, **__):
        popen = subprocess.Popen([*PARENT, "sh", "-c", self.program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        process = Process(popen)
        assert popen.stdout.readline() == "ready\n"
        self.spawned.append(process)
        return process

    def running(self):
        return [process for process in self.spawned if process.is_running()]


def start(program):
    """Returns a machine with a worker, and the site that it is part of."""
    machine = FakeMachine(program)
    site = types.SimpleNamespace(machines={NAME: machine}, clocks=False, windlass="windlass")
    builder = sites.Builder(site, NAME, "/nonexistent")
    site.builders = {NAME: builder}
    builder.start_worker()
    return machine, site


def stop(site):
    """Ends the workers of the site, and returns what is wrong."""
    # The site has no servers.
    sites.SERVERS = []
    return sites.Site.stop(site)


def one_worker_after_two_faults():
    machine, site = start(POLITE)
    injector = Injector(site, [Fault(0, 0.2, "kill worker", NAME), Fault(0, 0.2, "kill worker", NAME)])
    injector.start()
    injector.join()
    assert not injector.errors, injector.errors
    assert len(injector.killed) == 2, injector.killed
    assert len(machine.running()) == 1, f"{len(machine.running())} workers run after two faults"
    problems = stop(site)
    assert not problems, problems
    assert not machine.running(), "a worker is left"


def two_starts_are_one():
    machine, site = start(POLITE)
    builder = site.builders[NAME]
    builder.kill_worker()
    with ThreadPoolExecutor() as threads:
        for started in [threads.submit(builder.start_worker) for _ in range(2)]:
            started.result()
    assert len(machine.running()) == 1, f"{len(machine.running())} workers run after two starts"


def paused_worker_ends():
    machine, site = start(POLITE)
    site.builders[NAME].worker.signal(signal.SIGSTOP)
    worker = machine.spawned[0]
    state = pathlib.Path(f"/proc/{worker.pid}/stat")
    wait_until("the worker is paused", lambda: ") T " in state.read_text())
    problems = stop(site)
    assert not problems, problems
    assert not machine.running(), "a worker is left"


def worker_that_does_not_end_is_reported():
    machine, site = start(STUBBORN)
    sites.STOP_TIMEOUT = 1
    problems = stop(site)
    assert problems == [f"the worker on {NAME} did not end within 1 s of SIGTERM"], problems
    assert not machine.running(), "a worker is left"


def main():
    for check in (one_worker_after_two_faults, two_starts_are_one, paused_worker_ends, worker_that_does_not_end_is_reported):
        try:
            check()
        finally:
            for process in [process for machine in MACHINES for process in machine.running()]:
                process.kill()
        print(f"{check.__name__}: passed", flush=True)


if __name__ == "__main__":
    main()
