"""Makes the faults of a schedule happen, and records when each of them really began and ended."""

import collections
import signal
import subprocess
import threading
import time

from .network import Failure
from .site import SERVERS


class Supervisor(threading.Thread):
    """Starts workers and servers that have failed by themselves again."""

    PAUSE = 2

    def __init__(self, site, stopped):
        super().__init__(daemon=True)
        self.site, self.stopped = site, stopped
        self.restarts = 0

    def run(self):
        while not self.stopped.wait(self.PAUSE):
            self.restarts += sum(builder.restart_failed() for builder in self.site.builders.values())


class Injector:
    def __init__(self, site, schedule):
        self.site, self.schedule = site, schedule
        # What happened: (from, to, machine), in seconds since 1970.
        self.intervals = []
        # Killed workers: (name, second).
        self.killed = []
        self.errors = []

    def start(self):
        self.began = time.monotonic()
        # A fault may take longer than planned. The next one of the same machine begins when it has ended.
        by_machine = collections.defaultdict(list)
        for fault in self.schedule:
            by_machine[fault.machine].append(fault)
        self.threads = [threading.Thread(target=self.run, args=[faults], daemon=True) for faults in by_machine.values()]
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()

    def run(self, faults):
        """Makes the faults of one machine happen, one after the other."""
        for fault in faults:
            self.sleep_until(fault.at)
            began = time.time()
            try:
                begin, end = getattr(self, fault.kind.replace(" ", "_"))(fault.machine)
                begin()
                self.sleep_until(fault.until)
                end()
            except (Failure, OSError, subprocess.SubprocessError) as error:
                self.errors.append(f"{fault}: {error}")
            self.intervals.append((began, time.time(), fault.machine))

    def sleep_until(self, second):
        time.sleep(max(0, self.began + second - time.monotonic()))

    # Each fault is a pair of functions: what begins and what ends it.

    def cut(self, name):
        return lambda: self.site.network.cable("cut", name), lambda: self.site.network.cable("mend", name)

    def cut_worker(self, name):
        return self.cut(name)

    def cut_remote(self, name):
        return self.cut(name)

    def cut_database(self, _):
        return self.cut(self.site.database.primary.name)

    def cut_standby(self, _):
        return self.cut(self.site.database.standby.name)

    def slow_network(self, name):
        # 200 ms there and back.
        return lambda: self.site.network.cable("slow", name, 100, 0.05), lambda: self.site.network.cable("mend", name)

    def kill_worker(self, name):
        builder = self.site.builders[name]
        return lambda: self.killed.append(builder.kill_worker()), builder.start_worker

    def kill_server(self, name):
        builder = self.site.builders[name]
        return builder.kill_server, builder.start_server

    def kill_machine(self, name):
        builder = self.site.builders[name]

        def end():
            builder.start_worker()
            if name in SERVERS:
                builder.start_server()
        return lambda: self.killed.append(builder.kill_machine()), end

    def stop_worker(self, name):
        worker = self.site.builders[name].worker
        return lambda: worker.signal(signal.SIGSTOP), lambda: worker.signal(signal.SIGCONT)

    def stop_server(self, name):
        server = self.site.builders[name].server
        return lambda: server.signal(signal.SIGSTOP), lambda: server.signal(signal.SIGCONT)

    def crash_database(self, _):
        return self.site.database.crash, lambda: None

    def promote(self, _):
        return self.site.database.promote, lambda: None

    def wrong_clock(self, name):
        machine = self.site.builders[name].machine
        hour = 3600 if len(self.intervals) % 2 else -3600
        return lambda: machine.skew(hour), lambda: machine.skew(0)

    def full_disk(self, name):
        builder = self.site.builders[name]
        ballast = f"{builder.home}/.local/state/windlass/ballast"
        fill = ["sh", "-c", f"cat /dev/zero > '{ballast}'"]
        return lambda: builder.machine.run(fill, codes=range(256)), lambda: builder.machine.run(["rm", "-f", ballast])
