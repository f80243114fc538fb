"""One task through the whole loop with an agent that takes no time, beside git and the tests alone."""

import json
import resource
import time

from .report import Table

TASKS = 10
# Branches and objects of tasks that were done before.
FINISHED = [0, 1_000, 10_000]
MECHANISMS = ["none", "landlock", "bubblewrap"]

SCRIPT = {
    "turns": [
        {
            "when": {"turn": 1},
            "or_more": True,
            "answer": [{"write_file": {"path": "done.txt", "content": "done\n"}}],
        },
        {"or_more": True, "answer": [{"text": "Done."}]},
    ]
}

# A clone, one edit, the tests, one commit, and a fetch into the project.
BARE = """
git clone -q --shared --no-checkout "$project" "$clone" && cd "$clone" && git checkout -q && echo done > done.txt &&
sh -c 'test -f done.txt' && git add -A && git commit -qm Task &&
git -C "$project" fetch -q "$clone" HEAD:refs/heads/bare/task-$number && cd / && rm -rf "$clone"
"""


def run(bench):
    columns = ["ms", "beside bare", "CPU, ms", "beside bare "]
    result = Table("task", "One task of an agent that takes no time", columns)
    project = Project(bench, "task")
    names = ["git and the tests alone", *(f"**windlass worker**, {mechanism}" for mechanism in MECHANISMS)]
    samples = {name: [] for name in names}
    bench.wait_until_quiet()
    for number in range(bench.rounds + 1):
        figures = [project.bare(), *(project.work(mechanism, number) for mechanism in MECHANISMS)]
        for name, figure in zip(names, figures):
            # The first round warms up.
            if number:
                samples[name].append(figure)
    base = samples[names[0]]
    for name, figures in samples.items():
        ratios = [[one[at] / bare[at] for one, bare in zip(figures, base)] for at in (0, 1)]
        result.add(name, [one[0] for one in figures], ratios[0], [one[1] for one in figures], ratios[1])
    yield result
    growth = Table("task-growth", "CPU of a task under bubblewrap, ms", [f"{count:,} finished" for count in FINISHED])
    growth.add("**windlass worker**", *(grown(bench, count) for count in FINISHED))
    yield growth


def grown(bench, finished):
    """Returns the CPU time of a task in a repository with finished tasks."""
    project = Project(bench, f"task-{finished}", finished)
    project.work("bubblewrap", "first")
    return [project.work("bubblewrap", number)[1] for number in range(bench.rounds)]


class Project:
    """A repository of 200 files."""

    def __init__(self, bench, name, finished=0):
        self.bench = bench
        self.program = bench.windlass()
        self.name = name
        self.path = bench.dir / self.name
        self.env = bench.environment()
        for kind in ("AUTHOR", "COMMITTER"):
            self.env[f"GIT_{kind}_NAME"], self.env[f"GIT_{kind}_EMAIL"] = "Me", "me@localhost"
        self.git("init", "-q", "-b", "main", self.path, cwd=bench.dir)
        for number in range(200):
            (self.path / f"file{number}.txt").write_text(f"line {number}\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")
        if finished:
            self.finish(finished)
        self.script = bench.dir / "task.json"
        self.script.write_text(json.dumps(SCRIPT))
        self.bare_tasks = 0

    def git(self, *args, cwd=None, **more):
        return self.bench.run(["git", *args], cwd=cwd or self.path, env=self.env, **more)

    def finish(self, count):
        """Adds what finished tasks leave: a commit each, as loose objects, and two refs."""
        made = self.bench.dir / f"{self.name}-finished"
        self.git("clone", "-q", self.path, made)
        commit = "commit refs/heads/t-{0}\ncommitter Me <me@localhost> {1} +0000\ndata 1\nx\nfrom refs/heads/main^0\n"
        change = "M 100644 inline done.txt\ndata <<.\ntask {0}\n.\n"
        lines = "".join((commit + change).format(number, 1_700_000_000 + number) for number in range(count))
        self.git("fast-import", "--quiet", cwd=made, input=lines)
        tips = self.git("for-each-ref", "--format=%(objectname)", "refs/heads/t-*", cwd=made).split()
        pack = self.bench.dir / "finished.pack"
        wanted = self.bench.dir / "finished.revs"
        wanted.write_text("\n".join([*tips, "^" + self.git("rev-parse", "main").strip()]) + "\n")
        shell = 'git -C "$1" pack-objects -q --revs --stdout < "$2" > "$3" && git unpack-objects -q < "$3"'
        self.bench.run(["sh", "-c", shell, "sh", made, wanted, pack], cwd=self.path, env=self.env)
        refs = "".join(
            f"create refs/heads/windlass/old/task-{number} {tip}\n"
            f"create refs/windlass/old/task-{number}/attempt-1 {tip}\n"
            for number, tip in enumerate(tips)
        )
        self.git("update-ref", "--stdin", input=refs)
        self.git("pack-refs", "--all")

    def bare(self):
        """Returns the milliseconds and CPU milliseconds of a task without Windlass."""

        def work():
            for _ in range(TASKS):
                self.bare_tasks += 1
                clone = self.bench.dir / "bare-clone"
                env = {**self.env, "project": str(self.path), "clone": str(clone), "number": str(self.bare_tasks)}
                self.bench.run(["sh", "-c", BARE], env=env)

        return timed(work)

    def work(self, mechanism, number):
        """Returns the milliseconds and CPU milliseconds of a task of a worker."""
        worker = self.prepare(mechanism, number, TASKS)
        return timed(lambda: self.bench.run(worker, cwd=self.path, env=self.env))

    def prepare(self, mechanism, number, tasks):
        """Adds tasks, and returns the command that does them."""
        config = self.bench.dir / f"{self.name}-{mechanism}.toml"
        config.write_text(
            f'default_agent = "player"\n[agents.player]\nbackend = "mock"\nscript = "{self.script}"\n'
            f'[store]\nurl = "sqlite:{self.bench.dir}/{self.name}-{mechanism}.db"\n[sandbox]\nmechanism = "{mechanism}"\n'
            '[tests]\ncommand = ["sh", "-c", "test -f done.txt"]\n'
        )
        command = [self.program, "--config", config]
        for task in range(tasks):
            self.bench.run([*command, "task", "add", f"Task {number}.{task}"], cwd=self.path, env=self.env)
        return [*command, "worker", "--once", "--concurrency", "1"]

    def processes(self, tasks):
        """Returns how many programs a worker starts that does this many tasks."""
        worker = self.prepare("bubblewrap", f"{tasks} traced", tasks)
        trace = self.bench.dir / "trace"
        traced = ["strace", "-f", "-qq", "-o", trace, "-e", "trace=execve", *worker]
        self.bench.run(traced, cwd=self.path, env=self.env)
        return sum(" = 0" in line for line in trace.read_text().splitlines())


def timed(work):
    """Returns the milliseconds and the CPU milliseconds of a task."""
    used, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    work()
    elapsed, now = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return elapsed * 1000 / TASKS, cpu * 1000 / TASKS
