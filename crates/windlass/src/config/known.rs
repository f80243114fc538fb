//! The one table of known keys.
//!
//! Everything about a key is said here once: unknown keys and wrong values, trust, redaction, variables of the
//! environment, `windlass config` and `docs/configuration.md` all read this table. A new key is a new row.

mod agents;
mod served;

use super::Kind;

/// One key that Windlass knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// The dotted path; a part in angle brackets stands for any name.
    pub path: &'static str,
    /// The kind of value.
    pub kind: Kind,
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

impl Known {
    const fn new(path: &'static str, kind: Kind, about: &'static str) -> Self {
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
    const fn harmless(mut self) -> Self {
        self.needs_trust = false;
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn variable(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }
}

/// Top-level tables that are another way to write an agent's table: `[acp]` is `[agents.acp]`.
pub(super) const SECTIONS: &[&str] = &["acp", "direct", "mock"];

/// Every key, in the order in which a reader wants to meet them. Trust is needed unless a row says otherwise.
pub const KEYS: &[Known] = &joined::<{ agents::ROWS.len() + served::ROWS.len() + ROWS.len() }>(&[
    agents::ROWS,
    served::ROWS,
    ROWS,
]);

/// The rows of all rooms in one table.
const fn joined<const N: usize>(rooms: &[&[Known]]) -> [Known; N] {
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
const ROWS: &[Known] = &[
    Known::new(
        "store.url",
        Kind::Text,
        "Where tasks are kept: `sqlite:FILE` or `postgres://…`.",
    )
    .or("sqlite:.windlass/windlass.db"),
    Known::new(
        "tests.command",
        Kind::CommandOrNone,
        "The tests that prove a change; with \"none\" a task ends unverified.",
    )
    .also(&["tests"]),
    Known::new(
        "tests.setup",
        Kind::Command,
        "What to run, with network, before the tests.",
    ),
    Known::new(
        "tests.network",
        Kind::Flag,
        "Whether the tests may use the network.",
    )
    .or("false"),
    Known::new(
        "tests.timeout_secs",
        Kind::Seconds,
        "How long one run of the tests may take.",
    )
    .harmless()
    .or("900"),
    Known::new(
        "run.planner",
        Kind::Name,
        "The agent that plans; without it the default agent, and without that the model at `run.turbo_host`.",
    ),
    Known::new(
        "run.coder",
        Kind::Name,
        "The agent that carries a plan out; without it the default agent, and without that the model at `run.local_host`.",
    ),
    Known::new(
        "run.turbo_host",
        Kind::Url,
        "The Ollama server whose model plans.",
    )
    .or("https://ollama.com")
    .variable("TURBO_HOST"),
    Known::new(
        "run.local_host",
        Kind::Url,
        "The Ollama server whose model carries plans out.",
    )
    .or("http://127.0.0.1:11434")
    .variable("OLLAMA_LOCAL"),
    Known::new(
        "run.planner_model",
        Kind::Text,
        "The model that plans, at `run.turbo_host`.",
    )
    .or("gpt-oss:20b")
    .variable("PLANNER_MODEL"),
    Known::new(
        "run.coder_model",
        Kind::Text,
        "The model that carries plans out, at `run.local_host`.",
    )
    .or("qwen2.5-coder")
    .variable("CODER_MODEL"),
    Known::new(
        "run.api_key_env",
        Kind::Variable,
        "The variable that holds the key for `run.turbo_host`.",
    )
    .or("OLLAMA_API_KEY"),
    Known::new(
        "run.max_steps",
        Kind::Count,
        "How many times a model may be asked while it carries out one plan.",
    )
    .harmless()
    .or("25")
    .variable("MAX_STEPS"),
    Known::new(
        "run.request_timeout_secs",
        Kind::Seconds,
        "How long one request to either server may take.",
    )
    .harmless()
    .or("120")
    .variable("REQUEST_TIMEOUT_S"),
    Known::new(
        "run.dry_run",
        Kind::Flag,
        "Whether `windlass run` only plans, even with `--apply`.",
    )
    .or("false")
    .variable("DRY_RUN"),
    Known::new(
        "worker.concurrency",
        Kind::Count,
        "How many tasks one worker works on at a time.",
    )
    .harmless()
    .or("10"),
    Known::new(
        "worker.lease_secs",
        Kind::Seconds,
        "How long a task stays a worker's without a sign of life from it.",
    )
    .harmless()
    .or("30"),
    Known::new(
        "sandbox.mechanism",
        Kind::Choice(&["auto", "bubblewrap", "landlock", "none"]),
        "What isolates agents, tools and tests.",
    )
    .or("auto"),
    Known::new(
        "sandbox.readable",
        Kind::List,
        "Files and folders that agents, tools and tests may read although the sandbox hides what is around them: a toolchain in an unusual place, such as [\"/tmp/toolchain\", \"~/sdk\"].",
    ),
    Known::new(
        "limits.turn_secs",
        Kind::Seconds,
        "How long a turn may take, for an agent without `timeout_secs`.",
    )
    .harmless()
    .or("600"),
    Known::new(
        "limits.stall_secs",
        Kind::Seconds,
        "How long an agent may stay silent within a turn; without it, as long as the turn may take.",
    )
    .harmless(),
];
