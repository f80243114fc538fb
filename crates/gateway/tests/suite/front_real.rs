//! Real clients on the front: the SDKs, LiteLLM and its proxy, and Codex and Claude Code with an agent as their model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;
use windlass_agents::model::{ModelAgent, ModelKind, ModelSettings, NoTools};
use windlass_agents::{AgentContext, composer};
use windlass_core::{AgentHandle, SystemClock, TurnLimits};
use windlass_gateway::{
    CardKind, Front, FrontLimits, ModelCard, Models, Running, Script, ScriptedModel, Served,
    Traces, Unserved, refusal,
};
use windlass_sandbox::{Host, Sandbox};
use windlass_wire::{ErrorKind, ModelError};

use super::front_world::{Echo, Kept};
use super::tools::{install, root};
use super::world::World as Desk;

/// What the front asks for.
const TOKEN: &str = "token-7f3a";
/// What the model's provider asks for, and nobody else may see.
const CANARY: &str = "canary-91bd";

/// Some agents by name.
struct Named(BTreeMap<&'static str, Served>);

impl Models for Named {
    fn cards(&self) -> Vec<ModelCard> {
        let card = |name: &&'static str| ModelCard {
            id: (*name).to_owned(),
            kind: CardKind::Agent,
        };
        self.0.keys().map(card).collect()
    }

    fn find(&self, name: &str) -> Result<Served, Unserved> {
        if let Some(model) = name.strip_prefix("composer-cli/") {
            let mut served = self.find("composer-cli")?;
            served.model = Some(model.to_owned());
            return Ok(served);
        }
        let near = |known: &&&str| known.len() == name.len();
        self.0.get(name).cloned().ok_or_else(|| Unserved::Unknown {
            name: name.to_owned(),
            near: self
                .0
                .keys()
                .filter(near)
                .map(ToString::to_string)
                .collect(),
        })
    }
}

/// A front with a scripted model and agents behind it, and a guard before it.
pub(crate) struct Stage {
    pub(crate) url: String,
    pub(crate) upstream: Running,
    pub(crate) front: Front,
    pub(crate) traces: Arc<Kept>,
    folder: TempDir,
}

impl Stage {
    pub(crate) async fn new(script: Script) -> Self {
        let folder = TempDir::with_prefix_in("front-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let upstream = ScriptedModel::start(script, listen).await.unwrap();
        let context = context(folder.path()).await;
        let echo = || Served::new("echo", AgentHandle::wrap(Echo::default()));
        let cli =
            composer::factory(context.clone())(&json!({ "api_key_env": "TEST_KEY" })).unwrap();
        let short = cli.with_limits(TurnLimits {
            deadline: Duration::from_millis(500),
            ..cli.limits()
        });
        let native = |kind, config: Value| {
            let mut config = config;
            config["endpoint"] = upstream.url().into();
            config["api_key_env"] = "UPSTREAM_KEY".into();
            config["max_retries"] = 0.into();
            let settings = ModelSettings::read(&config).unwrap();
            let agent =
                ModelAgent::new(kind, settings, context.clone(), Arc::new(NoTools)).unwrap();
            Served {
                native: Some(Arc::new(agent.clone())),
                ..Served::new("model", agent.handle())
            }
        };
        let model = || native(ModelKind::OpenAi, json!({ "model": "scripted" }));
        let named = BTreeMap::from([
            ("echo", echo()),
            ("composite/profile/pair", echo()),
            ("composer-cli", Served::new("composer-cli", cli)),
            ("short", Served::new("short", short)),
            ("model", model()),
            ("fast", model()),
            (
                "gpt-5.5",
                native(
                    ModelKind::OpenAi,
                    json!({ "model": "gpt-5.5", "api_spec": "responses" }),
                ),
            ),
            (
                "claude-coder",
                native(ModelKind::Anthropic, json!({ "model": "claude-coder" })),
            ),
        ]);
        let traces = Arc::new(Kept::default());
        let front = Front::new(
            Arc::new(Named(named)),
            Arc::clone(&traces) as Arc<dyn Traces>,
            folder.path().join("rooms"),
            Arc::new(SystemClock::new()),
            FrontLimits::default(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = front.router().layer(from_fn(guard));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            upstream,
            front,
            traces,
            folder,
        }
    }

    /// Waits until every request is tidied up after, and says what is left.
    pub(crate) async fn settled(&self) -> Vec<PathBuf> {
        self.front.close().await;
        let rooms = std::fs::read_dir(self.folder.path().join("rooms"));
        let left = rooms.into_iter().flatten().flatten();
        left.map(|entry| entry.path()).collect()
    }
}

async fn guard(request: Request, next: Next) -> axum::response::Response {
    if is_known(&request) {
        return next.run(request).await;
    }
    let error = ModelError::new(ErrorKind::Authentication, "no token");
    refusal(request.uri().path(), &error)
}

fn is_known(request: &Request) -> bool {
    let header = |name| request.headers().get(name)?.to_str().ok();
    let token = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    token.or(header("x-api-key")) == Some(TOKEN)
}

async fn context(folder: &Path) -> AgentContext {
    let stand_in = root().join("crates/agents/tests/stand-in");
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        stand_in.canonicalize().unwrap().display()
    );
    let home = folder.join("home");
    std::fs::create_dir_all(&home).unwrap();
    let host = Host::new([
        ("HOME", home.to_str().unwrap()),
        ("PATH", path.as_str()),
        ("TEST_KEY", "key"),
        ("UPSTREAM_KEY", CANARY),
    ]);
    let sandbox = Sandbox::detect(host).await.unwrap();
    AgentContext::new(sandbox, folder.join("state"))
}

/// Runs a script of the SDK tests to its end.
async fn runs(stage: &Stage, program: &Path, script: &str, more: &[&str]) {
    let scripts = root().join("crates/windlass/tests/sdk");
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", stage.folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .arg(scripts.join(script))
        .args([stage.url.as_str(), TOKEN])
        .args(more)
        .kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(300), command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{script} hangs")).unwrap();
    let said = format!(
        "{}{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        stage.upstream.report()
    );
    assert!(output.status.success(), "{said}");
    assert!(output.stdout.ends_with(b"ok\n"), "{said}");
    assert_eq!(stage.settled().await, Vec::<PathBuf>::new());
    assert_eq!(processes(stage.folder.path()), Vec::<u32>::new());
}

/// Processes that work in this folder.
fn processes(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let here = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    };
    pids.filter(here).collect()
}

async fn stage() -> Stage {
    Stage::new(Desk::script("sdk.json")).await
}

fn python() -> PathBuf {
    install("sdk", "venv-sdk").join("bin/python")
}

fn litellm() -> PathBuf {
    install("sdk-python", "sdk-python").join("bin/python")
}

#[tokio::test]
async fn openai_sdk_on_agents() {
    runs(&stage().await, &python(), "use_openai.py", &[]).await;
}

#[tokio::test]
async fn an_older_openai_sdk_on_agents() {
    runs(&stage().await, &litellm(), "use_openai.py", &[]).await;
}

#[tokio::test]
async fn anthropic_sdk_on_agents() {
    runs(&stage().await, &python(), "use_anthropic.py", &[]).await;
}

#[tokio::test]
async fn ollama_sdk_on_agents() {
    runs(&stage().await, &python(), "use_ollama.py", &[]).await;
}

#[tokio::test]
async fn openai_sdk_for_node_on_agents() {
    let modules = install("sdk-node", "sdk-node");
    let modules = modules.to_str().unwrap();
    let node = Path::new("node");
    runs(&stage().await, node, "use_openai.mjs", &[modules]).await;
}

#[tokio::test]
async fn litellm_on_agents() {
    runs(&stage().await, &litellm(), "use_litellm.py", &[]).await;
}

#[tokio::test]
async fn a_litellm_proxy_before_agents() {
    runs(&stage().await, &litellm(), "use_proxy.py", &[]).await;
}

/// A real agent whose model is the front, and behind it a model agent on a script: the tools are the agent's.
async fn works(desk: Desk, stage: Stage, command: Command) {
    let ended = desk.run(command).await;
    let report = stage.upstream.report();
    let story = format!("{}\n{report}", ended.story);
    let read = |name: &str| {
        let text = std::fs::read_to_string(desk.work().join(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}\n{story}"))
    };
    assert_eq!(
        read("notes.txt"),
        "one\n2 (it's \"two\")\nthree\n",
        "{story}"
    );
    assert!(read("both.txt").contains("third, with 'quotes'"), "{story}");
    assert!(ended.stdout.contains("All done."), "{story}");
    assert!(report.is_clean(), "{story}");
    let kept = stage.traces.0.borrow().len();
    assert!(kept >= 5, "{kept} traces\n{story}");
}

async fn desk() -> Desk {
    let script = Script::parse(r#"{"turns": [{"fault": "hang"}]}"#, "none").unwrap();
    Desk::new(script, &[("notes.txt", "one\ntwo\nthree\n")]).await
}

const PROMPT: &str = "Change the notes as agreed";

#[tokio::test]
async fn codex_with_an_agent_as_its_model() {
    let (desk, stage) = (desk().await, Stage::new(Desk::script("edit.json")).await);
    let mut command = desk.codex_on(&stage.url, "gpt-5.5");
    command.env("KEY", TOKEN).arg(PROMPT);
    works(desk, stage, command).await;
}

#[tokio::test]
async fn claude_code_with_an_agent_as_its_model() {
    let (desk, stage) = (desk().await, Stage::new(Desk::script("edit.json")).await);
    let mut command = desk.claude();
    command
        .env("ANTHROPIC_API_KEY", TOKEN)
        .env("ANTHROPIC_BASE_URL", &stage.url)
        .env("ANTHROPIC_MODEL", "claude-coder")
        .env("ANTHROPIC_SMALL_FAST_MODEL", "claude-coder")
        .env("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-coder")
        .args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash"])
        .args(["--", PROMPT]);
    works(desk, stage, command).await;
}

/// Somebody who waits for a key.
async fn capture() -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let caught = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::clone(&caught);
    let router = axum::Router::new().fallback(move |request: Request| {
        seen.lock().unwrap().push(format!("{request:?}"));
        std::future::ready("{}")
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, caught)
}

#[tokio::test]
async fn p23_no_request_takes_a_key_elsewhere() {
    let stage = stage().await;
    let (elsewhere, caught) = capture().await;
    let fields = [
        "api_base",
        "base_url",
        "endpoint",
        "api_key",
        "extra_headers",
        "headers",
        "extra_body",
        "command",
        "proxy",
        "fallbacks",
        "model_list",
        "litellm_params",
        "API-BASE",
        "unknown",
        "metadata",
        "user",
    ];
    let host = elsewhere.strip_prefix("http://").unwrap();
    let url = format!("{}/v1/chat/completions", stage.url);
    let headers = [
        "x-forwarded-host: HOST",
        "x-api-base: http://HOST",
        "openai-base-url: http://HOST",
        "host: HOST",
        "forwarded: host=HOST",
    ];
    for field in fields {
        for value in [
            json!(elsewhere),
            json!({ "url": elsewhere, "api_base": elsewhere }),
        ] {
            let body = json!({
                "model": "model", field: value,
                "messages": [{ "role": "user", "content": "plain", field: value }],
            });
            let token = format!("authorization: Bearer {TOKEN}");
            for header in headers {
                let header = header.replace("HOST", host);
                let seen =
                    super::curl::curl(&url, Some(&body), &["-H", &token, "-H", &header]).await;
                assert!(matches!(seen.status, 200 | 400), "{seen:?}");
                assert!(!format!("{seen:?}").contains(CANARY), "{seen:?}");
            }
        }
    }
    for model in [
        format!("{elsewhere}/v1"),
        format!("openai/{elsewhere}"),
        "../model".to_owned(),
    ] {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": "plain" }] });
        let token = format!("authorization: Bearer {TOKEN}");
        let seen = super::curl::curl(&url, Some(&body), &["-H", &token]).await;
        assert_eq!(seen.status, 404, "{seen:?}");
    }
    assert_eq!(*caught.lock().unwrap(), Vec::<String>::new());
    assert!(stage.upstream.report().requests > 0);
    let traces = format!("{:?}", stage.traces.0.borrow());
    assert!(!traces.contains(CANARY));
}
