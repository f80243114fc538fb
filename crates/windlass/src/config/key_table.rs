//! The table of all configuration keys.
//!
//! Each key is defined here once. Validation, trust, redaction, environment variables, `windlass config` and
//! `docs/configuration.md` all use this table. To add a key, add a row.

mod agents;
mod served;

use super::ValueKind;

/// Definition of one configuration key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySpec {
    /// The dotted path; a part in angle brackets is a placeholder for a name.
    pub path: &'static str,
    /// The type of the value.
    pub kind: ValueKind,
    /// A description of at least one sentence.
    pub about: &'static str,
    /// The default value, as text like in a variable.
    pub default: Option<&'static str>,
    /// `true` if a file inside a repository may set the key only after `windlass trust`.
    pub needs_trust: bool,
    /// `true` if the value is never shown.
    pub secret: bool,
    /// Alternative paths of the key.
    pub aliases: &'static [&'static str],
    /// An additional environment variable for the key.
    pub variable: Option<&'static str>,
}

impl KeySpec {
    const fn new(path: &'static str, kind: ValueKind, about: &'static str) -> Self {
        Self {
            path,
            kind,
            about,
            default: None,
            needs_trust: true,
            secret: false,
            aliases: &[],
            variable: None,
        }
    }

    /// Allows an untrusted file inside a repository to set this key, because it chooses no command, endpoint,
    /// environment, policy, store or agent.
    const fn without_trust(mut self) -> Self {
        self.needs_trust = false;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn with_default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn with_aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn with_env_var(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }
}

/// Top-level tables that are aliases of an agent's table: `[acp]` is `[agents.acp]`.
pub(super) const SECTIONS: &[&str] = &["acp", "direct", "mock"];

/// All keys, in the order of the documentation. A key needs trust unless its row says otherwise.
pub const KEYS: &[KeySpec] =
    &concat::<{ agents::ROWS.len() + served::ROWS.len() + ROWS.len() }>(&[
        agents::ROWS,
        served::ROWS,
        ROWS,
    ]);

/// Concatenates the rows of all modules.
const fn concat<const N: usize>(tables: &[&[KeySpec]]) -> [KeySpec; N] {
    let mut all = [tables[0][0]; N];
    let (mut table, mut at) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            all[at] = tables[table][row];
            (row, at) = (row + 1, at + 1);
        }
        table += 1;
    }
    all
}

/// All keys that are not in a submodule.
const ROWS: &[KeySpec] = &[
    KeySpec::new(
        "store.url",
        ValueKind::Text,
        "URL of the task store: `sqlite:FILE` or `postgres://…`. Default: a file of this project in the state directory; \
         `windlass store path` prints it.",
    ),
    KeySpec::new(
        "tests.command",
        ValueKind::CommandOrNone,
        "The test command that verifies a change; with \"none\", tasks complete unverified.",
    )
    .with_aliases(&["tests"]),
    KeySpec::new(
        "tests.setup",
        ValueKind::Command,
        "Command to run before the tests, with network access.",
    ),
    KeySpec::new(
        "tests.network",
        ValueKind::Flag,
        "Whether the tests may use the network.",
    )
    .with_default("false"),
    KeySpec::new(
        "tests.timeout_secs",
        ValueKind::Seconds,
        "Timeout of one test run.",
    )
    .without_trust()
    .with_default("900"),
    KeySpec::new(
        "run.planner",
        ValueKind::Name,
        "The agent that makes the plan. Default: the default agent, or else the model at `run.turbo_host`.",
    ),
    KeySpec::new(
        "run.coder",
        ValueKind::Name,
        "The agent that executes the plan. Default: the default agent, or else the model at `run.local_host`.",
    ),
    KeySpec::new(
        "run.turbo_host",
        ValueKind::Url,
        "The Ollama server of the planner model.",
    )
    .with_default("https://ollama.com")
    .with_env_var("TURBO_HOST"),
    KeySpec::new(
        "run.local_host",
        ValueKind::Url,
        "The Ollama server of the coder model, which executes plans.",
    )
    .with_default("http://127.0.0.1:11434")
    .with_env_var("OLLAMA_LOCAL"),
    KeySpec::new(
        "run.planner_model",
        ValueKind::Text,
        "The planner model, at `run.turbo_host`.",
    )
    .with_default("gpt-oss:20b")
    .with_env_var("PLANNER_MODEL"),
    KeySpec::new(
        "run.coder_model",
        ValueKind::Text,
        "The coder model, at `run.local_host`.",
    )
    .with_default("qwen2.5-coder")
    .with_env_var("CODER_MODEL"),
    KeySpec::new(
        "run.api_key_env",
        ValueKind::Variable,
        "The variable that holds the API key for `run.turbo_host`.",
    )
    .with_default("OLLAMA_API_KEY"),
    KeySpec::new(
        "run.max_steps",
        ValueKind::Count,
        "Maximum number of model calls while executing one plan.",
    )
    .without_trust()
    .with_default("25")
    .with_env_var("MAX_STEPS"),
    KeySpec::new(
        "run.request_timeout_secs",
        ValueKind::Seconds,
        "Timeout of one request to either server.",
    )
    .without_trust()
    .with_default("120")
    .with_env_var("REQUEST_TIMEOUT_S"),
    KeySpec::new(
        "run.dry_run",
        ValueKind::Flag,
        "Whether `windlass run` only plans, even with `--apply`.",
    )
    .with_default("false")
    .with_env_var("DRY_RUN"),
    KeySpec::new(
        "worker.concurrency",
        ValueKind::Count,
        "Maximum number of concurrent tasks of one worker.",
    )
    .without_trust()
    .with_default("10"),
    KeySpec::new(
        "worker.lease_secs",
        ValueKind::Seconds,
        "Lease duration: how long a claimed task stays with a worker that sends no heartbeat.",
    )
    .without_trust()
    .with_default("30"),
    KeySpec::new(
        "sandbox.mechanism",
        ValueKind::Choice(&["auto", "bubblewrap", "landlock", "none"]),
        "The mechanism that isolates agents, tools and tests.",
    )
    .with_default("auto"),
    KeySpec::new(
        "sandbox.readable",
        ValueKind::List,
        "Files and directories that agents, tools and tests may read although the sandbox hides their parent directory, such as a toolchain in an unusual location: [\"/tmp/toolchain\", \"~/sdk\"].",
    ),
    KeySpec::new(
        "limits.turn_secs",
        ValueKind::Seconds,
        "Timeout of a turn, for an agent without `timeout_secs`.",
    )
    .without_trust()
    .with_default("600"),
    KeySpec::new(
        "limits.stall_secs",
        ValueKind::Seconds,
        "How long an agent may emit no events within a turn. Default: no limit except the timeout of the turn.",
    )
    .without_trust(),
];
