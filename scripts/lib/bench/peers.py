"""Other gateways and queues, installed from package registries."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from .contender import GATEWAY_CORE, Contender
from .machine import Problem

PORTKEY = "@portkey-ai/gateway@1.15.2"
LITELLM_RS = "litellm-rs@0.9.0"
JOBS = "2000"
QUEUE_PROGRAMS = Path(__file__).parent / "queues"


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


def crate(bench, program, *what):
    """Installs a crate, and returns the path of its program."""
    prefix = bench.cache / "cargo"
    path = prefix / "bin" / program
    if not path.exists():
        target = bench.cache / "cargo-target"
        install(["cargo", "install", "--quiet", "--locked", "--root", str(prefix), "--target-dir", str(target), *what])
        shutil.rmtree(target, ignore_errors=True)
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


def litellm_rs(bench, upstream):
    server = crate(bench, "gateway", LITELLM_RS, "--features", "sqlite", "--bin", "gateway")
    port = unused_port()
    provider = {
        "name": "scripted",
        "provider_type": "openai_compatible",
        "endpoint_access": "private_network",
        "api_key": "sk-0123456789abcdef",
        "base_url": f"{upstream}/v1",
        "models": ["scripted"],
        "max_concurrent_requests": 2_000,
        "max_retries": 0,
        "rpm": 1_000_000_000,
        "tpm": 1_000_000_000,
        "enabled": True,
    }
    off = {"enabled": False}
    settings = {
        "schema_version": "1.0",
        "server": {"host": "127.0.0.1", "port": port, "dev_mode": True},
        "providers": [provider],
        "router": {"strategy": "round_robin"},
        "storage": {
            "database": {**off, "url": "postgresql://localhost/none", "max_connections": 1, "connection_timeout": 5, "ssl": False},
            "redis": {**off, "url": "redis://localhost", "max_connections": 1, "connection_timeout": 5, "cluster": False},
        },
        "auth": {
            "enable_jwt": False,
            "enable_api_key": False,
            "allow_anonymous": True,
            "jwt_secret": "",
            "jwt_expiration": 86_400,
            "api_key_header": "Authorization",
        },
        "monitoring": {
            "metrics": {**off, "port": 9_090, "path": "/metrics", "interval_seconds": 15},
            "tracing": {**off, "endpoint": None, "service_name": "bench", "sampling_rate": 0.0},
            "health": {"path": "/health", "detailed": False},
        },
        "cache": {**off, "ttl": 3_600, "max_size": 1_000},
        "pricing": {
            "source": "embedded://model_prices_extended",
            "unpriced_model_policy": "allow_unpriced",
            "unpriced_fallback_cost_per_1k_tokens": 0.0,
        },
        "rate_limit": {**off, "strategy": "token_bucket", "default_rpm": 1_000, "default_tpm": 100_000},
    }
    config = bench.dir / "litellm-rs.yaml"
    config.write_text(json.dumps(settings))
    process = bench.start([server, "--config", config, "--log-level", "error"], core=GATEWAY_CORE)
    wait_until_answers(process, f"http://127.0.0.1:{port}/health")
    return Contender("litellm-rs", f"http://127.0.0.1:{port}", "scripted", "scripted", process)


def node_queue(package, script):
    """Returns what prepares a script that measures an npm package."""

    def prepare(bench, server):
        name = package.rsplit("@", 1)[0]
        npm(bench, package, name)
        # A script finds packages beside itself.
        path = bench.cache / "npm" / script
        shutil.copy(QUEUE_PROGRAMS / script, path)
        return ["node", path, JOBS], server.environment()

    return prepare


def apalis(bench, server):
    return [apalis_program(bench), JOBS], server.environment()


def apalis_sqlite(bench, server):
    """Each run has a new file: what is done stays in the table."""
    shell = 'rm -f "$1"* && DATABASE_URL="sqlite:$1?mode=rwc" exec "$2" "$3"'
    return ["sh", "-c", shell, "sh", bench.dir / "apalis.db", apalis_program(bench), JOBS], bench.environment()


def apalis_program(bench):
    return crate(bench, "bench-apalis", "--path", str(QUEUE_PROGRAMS / "apalis"))


GATEWAYS = [litellm_rs, portkey, litellm]
QUEUES = {
    "apalis-postgres": apalis,
    "graphile-worker": node_queue("graphile-worker@0.17.3", "graphile.mjs"),
    "pg-boss": node_queue("pg-boss@10.4.2", "pg-boss.mjs"),
    "apalis-sqlite": apalis_sqlite,
}
