"""Windlass on six machines: two with a server, a worker and a checkout, and one with a worker alone."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import workload
from .database import URL, Database
from .network import Machine, Network, call, wait_until
from .remote import Remote

PORT = 7420
# The machines with workers, and where each has its files.
BUILDERS = {"build-1": "/srv", "build-2": "/mnt", "build-3": "/media"}
SERVERS = ["build-1", "build-2"]
# The size of the disk for the state of the last machine.
SMALL_DISK = "size=192m"
# How long a process may take to end by itself.
STOP_TIMEOUT = 60

CONFIGURATION = """
{agents}
[store]
url = "{url}"
[worker]
lease_secs = {lease}
concurrency = 2
labels = {labels}
[tests]
command = ["sh", "-c", {test}]
"""


# An agent that plays the script itself.
PLAYER = """
default_agent = "player"
[agents.player]
backend = "mock"
script = "{home}/script.json"
"""


class Builder:
    """A machine that runs Windlass: a worker, and a server on some."""

    def __init__(self, site, name, home):
        self.site, self.name = site, name
        self.machine = site.machines[name]
        self.home = f"{home}/people/{name}"
        self.files = self.machine.files / "people" / name
        self.checkout = f"{self.home}/projects/{name} shop"
        # More environment of its Windlass processes.
        self.variables = {}
        # Held while a process is started, killed or stopped: two threads never replace the same one.
        self.lock = threading.RLock()
        self.worker = None
        self.server = None

    def install(self, configuration):
        self.files.mkdir(parents=True, exist_ok=True)
        self.site.remote.admit(self.machine)
        (self.files / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n")
        (self.files / "windlass.toml").write_text(configuration)
        if self.name == "build-3":
            state = f"{self.home}/.local/state/windlass"
            self.machine.run(["sh", "-euc", f"mkdir -p '{state}'; mount -t tmpfs -o {SMALL_DISK},mode=700 tmpfs '{state}'"])

    def command(self, *words):
        return [self.site.windlass, "--config", f"{self.home}/windlass.toml", *words]

    def env(self):
        return {"HOME": self.home} | (self.machine.clock() if self.site.clocks else {}) | self.variables

    def windlass(self, *words, cwd=None, timeout=60, codes=(0,)):
        """Runs a command to its end, and returns its output."""
        limited = ["timeout", "--signal=KILL", timeout, *self.command(*words)]
        return self.machine.run(limited, self.env(), cwd or self.checkout, timeout=timeout + 30, codes=codes)

    def git(self, *words, cwd=None):
        return self.machine.run(["git", *words], {"HOME": self.home}, cwd or self.checkout)

    def start_worker(self, *flags):
        self.start("worker", self.command("worker", "--all", *flags), self.home)

    def start_server(self):
        listen = f"{self.machine.address}:{PORT}"
        self.start("server", self.command("serve", "--no-worker", "--insecure-listen", "--listen", listen), self.checkout)

    def start(self, part, command, cwd):
        """Starts the worker or the server, unless it runs."""
        with self.lock:
            process = getattr(self, part)
            if not process or not process.is_running():
                setattr(self, part, self.machine.spawn(command, f"{part}-{self.name}", self.env(), cwd))

    def restart_failed(self):
        """Starts what has failed by itself again, as the systemd units do. Returns the number of restarts."""
        count = 0
        with self.lock:
            for part, start in (("worker", self.start_worker), ("server", self.start_server)):
                process = getattr(self, part)
                if process and not process.killed and not process.is_running():
                    start()
                    count += 1
        return count

    def kill_worker(self):
        """Kills the worker, and returns its name and when."""
        with self.lock:
            killed = (self.worker_name(), time.time())
            self.worker.kill()
        return killed

    def kill_server(self):
        with self.lock:
            self.server.kill()

    def kill_machine(self):
        """Kills every process, as a power failure does. Returns the name of the worker, and when."""
        with self.lock:
            killed = (self.worker_name(), time.time())
            self.machine.kill_all()
            for process in filter(None, (self.worker, self.server)):
                process.kill()
        return killed

    def stop(self, part):
        """Ends the worker or the server, as an operator does. Returns what is wrong: 1 says that an attempt did not succeed."""
        with self.lock:
            code = getattr(self, part).stop(STOP_TIMEOUT)
        if code is None:
            return f"the {part} on {self.name} did not end within {STOP_TIMEOUT} s of SIGTERM"
        return None if code in (0, 1) else f"the {part} on {self.name} ended with {code}"

    def worker_name(self):
        """Returns the name under which the store knows the worker's attempts."""
        name = self.machine.run(["cat", f"{self.home}/.local/state/windlass/machine"]).strip()
        return f"{name}/{self.worker.own_pid}"


class Site:
    def __init__(self, work, seed, windlass):
        self.work, self.windlass = work, windlass
        # Whether the clocks of Windlass processes can be set.
        self.clocks = True
        names = ["db-1", "db-2", "git", *BUILDERS]
        self.network = Network(work, seed, names)
        homes = ["/srv", "/srv", "/srv", *BUILDERS.values()]
        self.machines = {name: Machine(self.network, name, 11 + number, home) for number, (name, home) in enumerate(zip(names, homes))}
        self.database = Database(self.machines["db-1"], self.machines["db-2"])
        self.remote = Remote(self.machines["git"])
        self.builders = {name: Builder(self, name, home) for name, home in BUILDERS.items()}

    def start(self, lease, agents, script):
        """Starts everything. Each machine has these agents, by its name, and their script as `script.json`."""
        self.database.start()
        self.remote.start()
        for name, builder in self.builders.items():
            labels = [] if name == "build-1" else ["gpu"]
            configured = agents[name].format(home=builder.home)
            builder.install(CONFIGURATION.format(
                agents=configured, url=URL, lease=lease, labels=json.dumps(labels), test=json.dumps(workload.TEST)
            ))
            (builder.files / "script.json").write_text(json.dumps(script))
        self.create_project()
        for name in SERVERS:
            self.builders[name].start_server()
        for builder in self.builders.values():
            builder.start_worker()
        for name in SERVERS:
            self.wait_for_server(name)

    def create_project(self):
        """Makes the project on one machine, registers it, and clones it on the other one with a server."""
        first, second = (self.builders[name] for name in SERVERS)
        (first.files / "projects" / f"{first.name} shop").mkdir(parents=True)
        (first.files / "projects" / f"{first.name} shop" / "README").write_text("A shop.\n")
        for words in (
            ["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=Begin"],
            ["remote", "add", "origin", self.remote.url], ["push", "--quiet", "--set-upstream", "origin", "main"],
        ):
            first.git(*words)
        first.windlass("project", "add", "--remote", self.remote.url)
        second.git("clone", "--quiet", self.remote.url, second.checkout, cwd=second.home)
        second.windlass("project", "add")

    def wait_for_server(self, name):
        address = self.machines[name].address
        words = ["python3", "-c", f"import urllib.request; urllib.request.urlopen('http://{address}:{PORT}/readyz', timeout=2)"]
        wait_until(f"the server on {name} answers", lambda: not call(words, codes=range(256)))

    def token(self):
        words = ["token", "create", "client", "--scope", "read,work,approve", "--expires", "1d", "--json"]
        return json.loads(self.builders["build-1"].windlass(*words))["token"]

    def addresses(self):
        return [f"{self.machines[name].address}:{PORT}" for name in SERVERS]

    def stop(self):
        """Ends all workers, and then all servers. Returns a sentence for each that crashed or did not end."""
        problems = []
        with ThreadPoolExecutor() as threads:
            for part, names in (("worker", self.builders), ("server", SERVERS)):
                problems += threads.map(lambda name: self.builders[name].stop(part), names)
        # Their agents and tests end with them, but not before them.
        time.sleep(1)
        return [problem for problem in problems if problem]

    def running(self):
        """Returns what still runs on the machines of the workers."""
        return [(name, line) for name, builder in self.builders.items() for line in builder.machine.processes()]
