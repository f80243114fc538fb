"""Other gateways and queues, installed from package registries."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

from .contender import GATEWAY_CORE, Contender
from .machine import Problem

PORTKEY = "@portkey-ai/gateway@1.15.2"


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def npm(bench, package, *files):
    """Installs an npm package, and returns the path of one of its files."""
    prefix = bench.cache / "npm"
    path = prefix.joinpath("node_modules", *files)
    if not path.exists():
        install(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(prefix), package])
    return path


def install(command):
    """Runs an installation with the user's own settings for registries."""
    if shutil.which(command[0]) is None:
        raise Problem(f"{command[0]} is missing: install it")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Problem(f"`{' '.join(command)}` failed: {done.stdout[-600:]}")


def wait_until_answers(process, url, seconds=120):
    """Waits until a server accepts connections."""
    until = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise Problem(f"{url} does not answer: {process.log.read_text(errors='replace')[-600:]}") from None
            time.sleep(0.1)


def litellm(bench, upstream):
    install([str(bench.root / "scripts" / "setup"), "--only", "sdk-python"])
    python = bench.root / ".cache" / "sdk-python" / "bin" / "python"
    settings = {
        "model_list": [
            {
                "model_name": "model",
                "litellm_params": {"model": "openai/scripted", "api_base": f"{upstream}/v1", "api_key": "scripted"},
            }
        ],
        "litellm_settings": {"telemetry": False, "num_retries": 0},
        "general_settings": {"master_key": "sk-proxy"},
    }
    # JSON is YAML.
    config = bench.dir / "litellm.yaml"
    config.write_text(json.dumps(settings))
    port = unused_port()
    process = bench.start(
        [python, python.parent / "litellm", "--config", config, "--host", "127.0.0.1", "--port", port],
        core=GATEWAY_CORE,
        env=bench.environment(LITELLM_LOCAL_MODEL_COST_MAP="True"),
    )
    wait_until_answers(process, f"http://127.0.0.1:{port}/health/liveliness")
    return Contender("LiteLLM", f"http://127.0.0.1:{port}", "sk-proxy", "model", process)


def portkey(bench, upstream):
    server = npm(bench, PORTKEY, "@portkey-ai", "gateway", "build", "start-server.js")
    port = unused_port()
    process = bench.start(["node", server, f"--port={port}", "--headless"], core=GATEWAY_CORE)
    wait_until_answers(process, f"http://127.0.0.1:{port}/")
    headers = [("x-portkey-provider", "openai"), ("x-portkey-custom-host", f"{upstream}/v1")]
    return Contender("Portkey", f"http://127.0.0.1:{port}", "scripted", "scripted", process, headers)


def node_queue(package, script):
    """Returns what prepares a script that measures an npm package."""

    def prepare(bench, server):
        name = package.rsplit("@", 1)[0]
        npm(bench, package, name)
        # A script finds packages beside itself.
        path = bench.cache / "npm" / script
        shutil.copy(bench.root / "scripts" / "lib" / "bench" / "queues" / script, path)
        return ["node", path, "2000"]

    return prepare


GATEWAYS = [portkey, litellm]
QUEUES = {
    "graphile-worker": node_queue("graphile-worker@0.17.3", "graphile.mjs"),
    "pg-boss": node_queue("pg-boss@10.4.2", "pg-boss.mjs"),
}
