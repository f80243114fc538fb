"""One prompt to the real Codex, bare and through Windlass, on the same scripted model."""

import json
import re
import time

from . import machine, peers
from .machine import MEASURED
from .report import Table

WARM_AGENTS = ["codex", "claude"]
# Codex asks for its plugins at an address outside of this machine, which the sandbox refuses to it. Nothing listens here.
CLOSED_PROXY = "http://127.0.0.1:9"


def run(bench):
    peers.install([str(bench.root / "scripts" / "setup"), "--only", "agents"])
    program = bench.windlass()
    work, codex_home = bench.dir / "work", bench.dir / "codex"
    codex_home.mkdir()
    bench.run(["git", "init", "-q", work])
    script = bench.dir / "script.json"
    script.write_text(json.dumps({"turns": [{"answer": [{"text": "Pong it is."}], "or_more": True}]}))
    model = bench.start([program, "model", "--script", script])
    url = machine.wait_for(model, lambda log: re.search(r"http://127\.0\.0\.1:\d+", log))[0]
    agent = f'backend = "codex"\nmodel = "gpt-5.5"\nendpoint = "{url}/v1"\napi_key_env = "DUMMY_KEY"\n'
    config = bench.dir / "turn.toml"
    config.write_text(f'[agents.app-server]\n{agent}[agents.exec]\ntransport = "exec"\n{agent}')
    agents = bench.root / ".cache" / "agents" / "node_modules" / ".bin"
    env = bench.environment(DUMMY_KEY="scripted", OPENAI_API_KEY="scripted")
    env["PATH"] = f"{agents}:{env['PATH']}"
    provider = f'{{name="x",base_url="{url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    settings = ["-c", 'model_provider="x"', "-c", f"model_providers.x={provider}"]
    bare = ["codex", "exec", "--json", "-s", "read-only", "-m", "gpt-5.5", *settings, "Hello"]
    ask = [program, "--config", config, "ask", "Hello", "-a"]
    contenders = {
        "bare `codex exec`": (bare, {**env, "CODEX_HOME": str(codex_home), "https_proxy": CLOSED_PROXY}),
        "**windlass ask**, transport `app-server`": ([*ask, "app-server"], env),
        "**windlass ask**, transport `exec`": ([*ask, "exec"], env),
    }
    samples = {name: [] for name in contenders}
    bench.wait_until_quiet()
    # The first round warms up.
    for number in range(bench.rounds * 2 + 1):
        for name, (command, env) in contenders.items():
            started = time.monotonic()
            bench.run(command, cwd=work, env=env, stdin=-3)
            if number:
                samples[name].append((time.monotonic() - started) * 1000)
    result = Table("turn", "One prompt to Codex", ["ms", "beside bare"])
    base = samples["bare `codex exec`"]
    for name, times in samples.items():
        result.add(name, times, [time / one for time, one in zip(times, base)])
    yield result
    yield warm(bench, url, work, env)


def warm(bench, url, work, env):
    """Measures the first text of an answer in a new session, and in one that exists."""
    bench.build("--example", "warm")
    program = bench.target / MEASURED / "examples" / "warm"
    settings = json.dumps({"endpoint": f"{url}/v1", "api_key_env": "DUMMY_KEY"})
    result = Table("warm", "First text of an answer, ms", ["new session", "second prompt"])
    for agent in WARM_AGENTS:
        state = bench.dir / f"state-{agent}"
        output = bench.run([program, agent, state, settings, bench.rounds * 2], cwd=work, env=env, stdin=-3)
        found = re.search(r"cold (\d+) ms, warm (\d+) ms", output)
        result.add(agent, found[1], found[2])
    return result
