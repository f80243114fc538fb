"""Published projects, put into git, for scripts that run Windlass on real projects."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache/real-projects"
# Of one command, in seconds.
TIMEOUT = 1800
# The settings of the registries' clients, relative to the home directory.
CLIENT_SETTINGS = [".npmrc", ".config/pip/pip.conf", ".cargo/config.toml", ".gitconfig", ".m2/settings.xml"]


class Failure(Exception):
    """What was not as it must be."""


def run(command, cwd, env=None, codes=(0,)):
    """Runs a command, and returns its standard output."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TIMEOUT
    )
    if done.returncode not in codes:
        lines = (done.stdout + done.stderr).strip().splitlines()[-40:]
        raise Failure(f"`{' '.join(command)}` exited with {done.returncode}:\n" + "\n".join(lines))
    return done.stdout


def expect(condition, message):
    if not condition:
        raise Failure(message)


# Downloads: each function gets an empty directory, and puts one archive into it.


def pip(folder, name, version):
    # Only the source archive has the tests. The tools that build it may be wheels.
    run(["/usr/bin/python3", "-m", "venv", folder / "venv"], folder)
    options = ["--quiet", "--no-deps", "--no-binary", name, "--dest", folder]
    run([folder / "venv/bin/pip", "download", *options, f"{name}=={version}"], folder)
    shutil.rmtree(folder / "venv")


def npm(folder, name, version):
    run(["npm", "pack", "--silent", f"{name}@{version}"], folder)


def cargo(folder, name, version):
    # `cargo fetch` puts the published archives into the cargo directory.
    dummy = folder / "dummy"
    (dummy / "src").mkdir(parents=True)
    (dummy / "src/lib.rs").touch()
    manifest = f'[package]\nname = "dummy"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n{name} = "={version}"\n'
    (dummy / "Cargo.toml").write_text(manifest)
    run(["cargo", "fetch", "--quiet"], dummy)
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    found = sorted(home.glob(f"registry/cache/*/{name}-{version}.crate"))
    expect(found, f"cargo fetch left no archive of {name} {version} in {home}")
    shutil.copy(found[0], folder)
    shutil.rmtree(dummy)


def apt(folder, name, _path):
    run(["apt-get", "download", "--quiet", name], folder)


CLIENTS = {"pip": pip, "npm": npm, "cargo": cargo, "apt": apt}


def download(source):
    """Returns the archive of a source such as `pip click 8.1.7`; downloads it once."""
    client, name, version = source.split()
    folder = CACHE / f"{client}-{name}-{version}".replace("/", "_")
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as part:
            CLIENTS[client](pathlib.Path(part), name, version)
            os.chmod(part, 0o755)
            os.rename(part, folder)
            os.mkdir(part)
    archives = [path for path in folder.iterdir() if path.is_file()]
    expect(len(archives) == 1, f"{folder} must have one archive: delete it and start again")
    return archives[0]


def unpack(source, target):
    archive = download(source)
    target.mkdir(parents=True)
    if archive.suffix == ".deb":
        whole = target.with_name(f"{target.name}.deb")
        run(["dpkg-deb", "--extract", archive, whole], target)
        shutil.copytree(whole / source.split()[2], target, dirs_exist_ok=True)
        shutil.rmtree(whole)
    else:
        # Some archives have directories that cannot be entered, and the ids of another machine.
        options = ["--strip-components=1", "--no-same-owner", "--mode=u+rwX", "--warning=no-unknown-keyword"]
        run(["tar", "--extract", "--file", archive, "--directory", target, *options], target)
        run(["chmod", "-R", "u+rwX", target], target)


class Published:
    """One published project in a working directory, with its own home directory."""

    def __init__(self, record, work, windlass):
        self.record = record
        self.windlass = windlass
        self.repository = work / record["name"] / "a project"
        self.home = work / record["name"] / "home"
        self.script = work / record["name"] / "script.json"
        self.row = {"project": record["name"], "ecosystem": record["ecosystem"]}

    def env(self):
        cargo_home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
        rustup_home = os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
        # The sandbox hides the home directory: of the programs installed there, only those of cargo can be used.
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("WINDLASS", "GIT_", "XDG_", "PYENV"))}
        return kept | {
            "HOME": str(self.home),
            "PATH": f"{cargo_home}/bin:/usr/local/bin:/usr/bin:/bin",
            "CARGO_HOME": str(self.home / ".cargo"),
            "RUSTUP_HOME": rustup_home,
            "WINDLASS__AGENTS__MOCK__BACKEND": "mock",
            "WINDLASS__AGENTS__MOCK__SCRIPT": str(self.script),
        }

    def git(self, *words):
        return run(["git", *words], self.repository, self.env())

    def call(self, *words, codes=(0,)):
        return run([self.windlass, "--no-color", *words], self.repository, self.env(), codes)

    def create(self):
        """Puts the published files into git."""
        for folder, source in self.record.get("parts", {".": self.record.get("source")}).items():
            unpack(source, self.repository / folder)
        for name in CLIENT_SETTINGS:
            if (pathlib.Path.home() / name).is_file():
                (self.home / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path.home() / name, self.home / name)
        self.home.mkdir(exist_ok=True)
        for key, value in {"user.name": "Ada", "user.email": "ada@example.org"}.items():
            run(["git", "config", "--global", key, value], self.home, self.env())
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--message=As published")

    def set_up(self):
        """Writes the configuration with `windlass init`, which must find the tests."""
        printed = self.call("init")
        found = [line for line in printed.splitlines() if line.startswith("tests: ")]
        self.row["command"] = textwrap.shorten(found[0].removeprefix("tests: "), 48, placeholder=" …") if found else ""
        expect(found and "not detected" not in found[0], f"windlass init found no tests:\n{printed}")
        self.call("trust")


def build(binary):
    """Returns the program to test: this one, or else a debug build of this source."""
    if binary is None:
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "windlass"], cwd=ROOT, check=True)
        binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/windlass"
    return binary.resolve()


def remove(work):
    # A shared set-up is read-only.
    subprocess.run(["chmod", "-R", "u+rwX", work], check=False)
    shutil.rmtree(work)
