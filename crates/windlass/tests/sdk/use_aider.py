"""aider, with a model of the gateway, edits a file and commits the change."""

import os
import pathlib
import subprocess
import sys

from common import TOKEN, URL, equal, holds

FOLDER = pathlib.Path(os.environ["HOME"], "aider")
FOLDER.mkdir()
ENV = {
    **os.environ,
    "OPENAI_API_BASE": f"{URL}/v1",
    "OPENAI_API_KEY": TOKEN,
    "GIT_AUTHOR_NAME": "Me",
    "GIT_AUTHOR_EMAIL": "me@localhost",
    "GIT_COMMITTER_NAME": "Me",
    "GIT_COMMITTER_EMAIL": "me@localhost",
}


def run(*args):
    output = subprocess.run(args, cwd=FOLDER, env=ENV, capture_output=True, text=True, timeout=240, check=False)
    assert output.returncode == 0, f"{args}: {output.stdout}{output.stderr}"
    return output.stdout + output.stderr


run("git", "init", "-q")
(FOLDER / "greet.txt").write_text("Hello.\n")
run("git", "add", "-A")
run("git", "commit", "-q", "-m", "Begin")
shown = run(
    str(pathlib.Path(sys.executable).parent / "aider"),
    *["--model", "openai/model", "--edit-format", "diff", "--yes-always", "--no-check-update", "--analytics-disable"],
    *["--no-show-model-warnings", "--no-gitignore", "--no-stream", "--map-tokens", "0", "--no-pretty"],
    *["--message", "Greet the crew", "greet.txt"],
)
equal((FOLDER / "greet.txt").read_text(), "Ahoy, crew.\n")
holds(run("git", "log", "--oneline"), "\n")
holds(shown, "Applied edit to greet.txt")
print("ok")
