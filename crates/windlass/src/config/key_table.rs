//! The one table of known keys.
//!
//! Everything about a key is said here once: unknown keys and wrong values, trust, redaction, variables of the
//! environment, `windlass config` and `docs/configuration.md` all read this table. A new key is a new row.

mod agents;
mod served;

use super::ValueKind;

/// One key that Windlass knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySpec {
    /// The dotted path; a part in angle brackets stands for any name.
    pub path: &'static str,
    /// The kind of value.
    pub kind: ValueKind,
    /// One sentence for a person.
    pub about: &'static str,
    /// The value when nobody sets one, written as in a variable.
    pub default: Option<&'static str>,
    /// Whether a file inside a repository may set it only after `windlass trust`.
    pub needs_trust: bool,
    /// Whether its value is never shown.
    pub secret: bool,
    /// Other paths that mean the same.
    pub aliases: &'static [&'static str],
    /// A variable of its own that sets it, beside the one that every key has.
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

    /// A file inside a repository may set this key without being trusted: it chooses no command, endpoint,
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

/// Top-level tables that are another way to write an agent's table: `[acp]` is `[agents.acp]`.
pub(super) const SECTIONS: &[&str] = &["acp", "direct", "mock"];

/// Every key, in the order in which a reader wants to meet them. Trust is needed unless a row says otherwise.
pub const KEYS: &[KeySpec] =
    &joined::<{ agents::ROWS.len() + served::ROWS.len() + ROWS.len() }>(&[
        agents::ROWS,
        served::ROWS,
        ROWS,
    ]);

/// The rows of all rooms in one table.
const fn joined<const N: usize>(rooms: &[&[KeySpec]]) -> [KeySpec; N] {
    let mut all = [rooms[0][0]; N];
    let (mut room, mut at) = (0, 0);
    while room < rooms.len() {
        let mut row = 0;
        while row < rooms[room].len() {
            all[at] = rooms[room][row];
            (row, at) = (row + 1, at + 1);
        }
        room += 1;
    }
    all
}

/// The keys of everything else.
const ROWS: &[KeySpec] = &[
    KeySpec::new(
        "store.url",
        ValueKind::Text,
        "Where tasks are kept: `sqlite:FILE` or `postgres://…`.",
    )
    .with_default("sqlite:.windlass/windlass.db"),
    KeySpec::new(
        "tests.command",
        ValueKind::CommandOrNone,
        "The tests that prove a change; with \"none\" a task ends unverified.",
    )
    .with_aliases(&["tests"]),
    KeySpec::new(
        "tests.setup",
        ValueKind::Command,
        "What to run, with network, before the tests.",
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
        "How long one run of the tests may take.",
    )
    .without_trust()
    .with_default("900"),
    KeySpec::new(
        "run.planner",
        ValueKind::Name,
        "The agent that plans; without it the default agent, and without that the model at `run.turbo_host`.",
    ),
    KeySpec::new(
        "run.coder",
        ValueKind::Name,
        "The agent that carries a plan out; without it the default agent, and without that the model at `run.local_host`.",
    ),
    KeySpec::new(
        "run.turbo_host",
        ValueKind::Url,
        "The Ollama server whose model plans.",
    )
    .with_default("https://ollama.com")
    .with_env_var("TURBO_HOST"),
    KeySpec::new(
        "run.local_host",
        ValueKind::Url,
        "The Ollama server whose model carries plans out.",
    )
    .with_default("http://127.0.0.1:11434")
    .with_env_var("OLLAMA_LOCAL"),
    KeySpec::new(
        "run.planner_model",
        ValueKind::Text,
        "The model that plans, at `run.turbo_host`.",
    )
    .with_default("gpt-oss:20b")
    .with_env_var("PLANNER_MODEL"),
    KeySpec::new(
        "run.coder_model",
        ValueKind::Text,
        "The model that carries plans out, at `run.local_host`.",
    )
    .with_default("qwen2.5-coder")
    .with_env_var("CODER_MODEL"),
    KeySpec::new(
        "run.api_key_env",
        ValueKind::Variable,
        "The variable that holds the key for `run.turbo_host`.",
    )
    .with_default("OLLAMA_API_KEY"),
    KeySpec::new(
        "run.max_steps",
        ValueKind::Count,
        "How many times a model may be asked while it carries out one plan.",
    )
    .without_trust()
    .with_default("25")
    .with_env_var("MAX_STEPS"),
    KeySpec::new(
        "run.request_timeout_secs",
        ValueKind::Seconds,
        "How long one request to either server may take.",
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
        "How many tasks one worker works on at a time.",
    )
    .without_trust()
    .with_default("10"),
    KeySpec::new(
        "worker.lease_secs",
        ValueKind::Seconds,
        "How long a task stays a worker's without a sign of life from it.",
    )
    .without_trust()
    .with_default("30"),
    KeySpec::new(
        "sandbox.mechanism",
        ValueKind::Choice(&["auto", "bubblewrap", "landlock", "none"]),
        "What isolates agents, tools and tests.",
    )
    .with_default("auto"),
    KeySpec::new(
        "sandbox.readable",
        ValueKind::List,
        "Files and folders that agents, tools and tests may read although the sandbox hides what is around them: a toolchain in an unusual place, such as [\"/tmp/toolchain\", \"~/sdk\"].",
    ),
    KeySpec::new(
        "limits.turn_secs",
        ValueKind::Seconds,
        "How long a turn may take, for an agent without `timeout_secs`.",
    )
    .without_trust()
    .with_default("600"),
    KeySpec::new(
        "limits.stall_secs",
        ValueKind::Seconds,
        "How long an agent may stay silent within a turn; without it, as long as the turn may take.",
    )
    .without_trust(),
];
