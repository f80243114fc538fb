"""The program `llm`, with models of the gateway in its list."""

import os
import pathlib
import subprocess
import sys

from common import HELLO, TOKEN, URL, equal, holds

FOLDER = pathlib.Path(os.environ["HOME"], "llm")
FOLDER.mkdir()
MODELS = "\n".join(
    f"- model_id: w-{name}\n  model_name: {name}\n  api_base: {URL}/v1\n  api_key_name: windlass" for name in ("model", "echo")
)
(FOLDER / "extra-openai-models.yaml").write_text(MODELS + "\n")
ENV = {**os.environ, "LLM_USER_PATH": str(FOLDER)}
PROGRAM = pathlib.Path(sys.executable).parent / "llm"


def llm(*args):
    return subprocess.run([PROGRAM, *args], env=ENV, capture_output=True, text=True, timeout=120, check=False)


for more in [], ["--no-stream"]:
    equal(llm("-m", "w-model", "--key", TOKEN, *more, "plain").stdout.strip(), HELLO)
# Without a stream, llm needs token counts, which this agent does not have.
holds(llm("-m", "w-echo", "--key", TOKEN, "round").stdout, "round")
refused = llm("-m", "w-model", "--key", TOKEN, "unauthorized")
assert refused.returncode != 0
holds(refused.stderr, "refused the server's key")
print("ok")
