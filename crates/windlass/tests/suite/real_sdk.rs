//! Real clients of a real `windlass serve`: the SDKs, LiteLLM, and LiteLLM's proxy with the gateway as its upstream.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use windlass_scripted::{RunningModel, Script, ScriptedModel};

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().canonicalize().unwrap()
}

/// A server with models and agents, and the scripted models that they use.
struct Served {
    dir: TempDir,
    runtime: Runtime,
    models: Vec<RunningModel>,
    server: Child,
    url: String,
}

impl Served {
    fn new() -> Self {
        let script = root().join("crates/scripted/tests/scripts/sdk.json");
        Self::with_script(Script::read(&script).unwrap())
    }

    /// Serves a model that plays these turns.
    fn with_turns(turns: &Value) -> Self {
        let script = json!({ "turns": turns }).to_string();
        Self::with_script(Script::parse(&script, "a test").unwrap())
    }

    fn with_script(script: Script) -> Self {
        let dir = TempDir::with_prefix_in("serve-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let runtime = Runtime::new().unwrap();
        let busy = r#"{"turns": [{"or_more": true, "fault": {"status": {"code": 429}}}]}"#;
        let busy = Script::parse(busy, "busy").unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let start = |script| {
            runtime
                .block_on(ScriptedModel::start(script, listen))
                .unwrap()
        };
        let models = vec![start(script), start(busy)];
        let at = |path: &str| dir.path().join(path);
        for name in ["home", "project/.git"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let git = Command::new("git")
            .args(["init", "-q"])
            .arg(at("project"))
            .output();
        assert!(git.unwrap().status.success());
        std::fs::write(at("named.toml"), config(&at("tasks.db"), &models)).unwrap();
        let (server, url) = serve(dir.path());
        Self {
            dir,
            runtime,
            models,
            server,
            url,
        }
    }

    fn token(&self) -> String {
        let state = self
            .dir
            .path()
            .join("home/.local/state/windlass/server-token");
        std::fs::read_to_string(state).unwrap().trim().to_owned()
    }

    /// Runs a script of `tests/sdk` and checks that it succeeds.
    #[track_caller]
    fn run_client(self, program: &Path, script: &str, more: &[&str]) {
        let output = Command::new(program)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.dir.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .arg(root().join("crates/windlass/tests/sdk").join(script))
            .args([self.url.as_str(), &self.token()])
            .args(more)
            .timeout(Duration::from_secs(300))
            .output()
            .unwrap();
        let output_text = format!(
            "{}{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            self.models[0].report()
        );
        assert!(output.status.success(), "{output_text}");
        assert!(output.stdout.ends_with(b"ok\n"), "{output_text}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let models = std::mem::take(&mut self.models);
        // A model must be dropped inside its runtime.
        let _inside = self.runtime.enter();
        drop(models);
    }
}

fn config(store: &Path, models: &[RunningModel]) -> String {
    let [model, busy] = [0, 1].map(|at| models[at].url());
    format!(
        "[agents.model]\nbackend = \"openai\"\nendpoint = \"{model}\"\nmodel = \"scripted\"\n\
         api_key_env = \"UPSTREAM_KEY\"\nmax_retries = 0\n\
         [agents.limited]\nbackend = \"openai\"\nendpoint = \"{model}\"\nmodel = \"scripted\"\n\
         api_key_env = \"LIMITED_KEY\"\nmax_retries = 0\n\
         [agents.busy]\nbackend = \"openai\"\nendpoint = \"{busy}\"\nmodel = \"scripted\"\n\
         api_key_env = \"UPSTREAM_KEY\"\nmax_retries = 0\n\
         [agents.echo]\nbackend = \"mock\"\n\
         [agents.composer-cli]\nbackend = \"composer-cli\"\napi_key_env = \"TEST_KEY\"\n\
         [agents.short]\nbackend = \"composer-cli\"\napi_key_env = \"TEST_KEY\"\ntimeout_secs = 1\n\
         [composites.pair]\nkind = \"fallback\"\nnodes = [\"busy\", \"echo\"]\n\
         [agents.caller]\nbackend = \"mock\"\nscript = \"{}\"\n\
         [model_list.fast]\nagent = \"model\"\n\
         [model_list.talker]\nagent = \"caller\"\ntool_calls = \"transcript\"\n\
         [store]\nurl = \"sqlite:{}\"\n",
        root()
            .join("crates/windlass/tests/sdk/caller.json")
            .display(),
        store.display()
    )
}

/// Starts the server, and returns its address once it is ready.
fn serve(dir: &Path) -> (Child, String) {
    let fake_agent = root().join("crates/agents/tests/fake-agent");
    #[expect(
        clippy::disallowed_methods,
        reason = "killing the server needs the child itself"
    )]
    let mut server = std::process::Command::new(assert_cmd::cargo::cargo_bin("windlass"))
        .env_clear()
        .env("HOME", dir.join("home"))
        .env(
            "PATH",
            format!("{}:/usr/local/bin:/usr/bin:/bin", fake_agent.display()),
        )
        .env("UPSTREAM_KEY", "canary-91bd")
        .env("LIMITED_KEY", "canary-55ae")
        .env("TEST_KEY", "canary-3c07")
        .current_dir(dir.join("project"))
        .arg("--config")
        .arg(dir.join("named.toml"))
        .args(["serve", "--no-worker", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output_text = BufReader::new(server.stdout.take().unwrap());
    output_text.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready at http://"), "{line:?}");
    let at = line.find("http").unwrap_or_default();
    (server, line[at..].trim().to_owned())
}

/// Installs what is missing, and returns its directory.
pub(crate) fn install(component: &str, dir: &str) -> PathBuf {
    let setup = root().join("scripts/setup");
    let output = Command::new(setup)
        .args(["--only", component])
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output_text}");
    root().join(".cache").join(dir)
}

fn python() -> PathBuf {
    install("sdk", "venv-sdk").join("bin/python")
}

fn litellm() -> PathBuf {
    install("sdk-python", "sdk-python").join("bin/python")
}

#[test]
fn openai_python_sdk() {
    Served::new().run_client(&python(), "use_openai.py", &[]);
}

/// The version that LiteLLM installs.
#[test]
fn older_openai_python_sdk() {
    Served::new().run_client(&litellm(), "use_openai.py", &[]);
}

#[test]
fn anthropic_python_sdk() {
    Served::new().run_client(&python(), "use_anthropic.py", &[]);
}

#[test]
fn ollama_python_sdk() {
    Served::new().run_client(&python(), "use_ollama.py", &[]);
}

#[test]
fn openai_node_sdk() {
    let modules = install("sdk-node", "sdk-node");
    let modules = modules.to_str().unwrap();
    Served::new().run_client(Path::new("node"), "use_openai.mjs", &[modules]);
}

#[test]
fn litellm_library() {
    Served::new().run_client(&litellm(), "use_litellm.py", &[]);
}

/// Agents in the proxy's own `model_list`.
#[test]
fn litellm_proxy() {
    Served::new().run_client(&litellm(), "use_proxy.py", &[]);
}

/// Returns the interpreter with the clients of the full tier.
fn clients() -> PathBuf {
    install("sdk-clients", "sdk-clients").join("bin/python")
}

#[test]
#[ignore = "full: installs many clients"]
fn langchain() {
    Served::new().run_client(&clients(), "use_langchain.py", &[]);
}

#[test]
#[ignore = "full: installs many clients"]
fn pydantic_ai() {
    Served::new().run_client(&clients(), "use_pydantic_ai.py", &[]);
}

#[test]
#[ignore = "full: installs many clients"]
fn openai_agents() {
    Served::new().run_client(&clients(), "use_openai_agents.py", &[]);
}

#[test]
#[ignore = "full: installs many clients"]
fn llm_program() {
    Served::new().run_client(&clients(), "use_llm.py", &[]);
}

#[test]
#[ignore = "full: installs many clients"]
fn vercel_ai_sdk() {
    let modules = install("sdk-ai", "sdk-ai");
    let node = modules.join("node_modules/.bin/node");
    Served::new().run_client(&node, "use_ai.mjs", &[modules.to_str().unwrap()]);
}

#[test]
#[ignore = "full: starts the real Claude Code"]
fn claude_agent_sdk() {
    let claude = install("agents", "agents").join("node_modules/.bin/claude");
    let turns = json!([
        { "answer": [{ "write_file": { "path": "knot.txt", "content": "bowline\n" } }] },
        { "answer": [{ "text": "Tied." }], "or_more": true },
    ]);
    let served = Served::with_turns(&turns);
    served.run_client(&clients(), "use_claude_sdk.py", &[claude.to_str().unwrap()]);
}

#[test]
#[ignore = "full: installs aider"]
fn aider_edits_a_file() {
    let edit =
        "greet.txt\n```\n<<<<<<< SEARCH\nHello.\n=======\nAhoy, crew.\n>>>>>>> REPLACE\n```\n";
    let turns = json!([{ "answer": [{ "text": edit }], "or_more": true }]);
    let aider = install("sdk-aider", "sdk-aider").join("bin/python");
    Served::with_turns(&turns).run_client(&aider, "use_aider.py", &[]);
}
