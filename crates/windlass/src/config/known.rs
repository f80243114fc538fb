//! The one table of known keys.
//!
//! Everything about a key is said here once: unknown keys and wrong values, trust, redaction, variables of the
//! environment, `windlass config` and `docs/configuration.md` all read this table. A new key is a new row.

use super::Kind;

/// One key that Windlass knows.
#[derive(Debug, PartialEq, Eq)]
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
pub const KEYS: &[Known] = &[
    Known::new(
        "default_agent",
        Kind::Name,
        "The agent that answers when none is named.",
    )
    .also(&["agent_backend"])
    .variable("WINDLASS_AGENT"),
    Known::new(
        "agents.<name>.backend",
        Kind::Text,
        "How the agent is reached: codex, claude, cursor, qwen, gemini, opencode, copilot, goose, claude-agent-acp, codex-acp, acp, ollama, openai, anthropic, mock, replay, or the name of a backend of your own. Without it, the agent's name.",
    ),
    Known::new(
        "agents.<name>.command",
        Kind::Command,
        "The program that speaks the agent's protocol, with its arguments.",
    )
    .also(&["agents.<name>.agent_binary"]),
    Known::new(
        "agents.<name>.preset",
        Kind::Text,
        "For `acp`: which of the agents known by name it is; `command` then only says how to start it.",
    ),
    Known::new(
        "agents.<name>.mode",
        Kind::Text,
        "For agents reached by ACP: the mode of their sessions, by the name that the agent gives it.",
    ),
    Known::new(
        "agents.<name>.options.<option>",
        Kind::AnyText,
        "For agents reached by ACP: an option of their sessions, by the name that the agent gives it.",
    ),
    Known::new(
        "agents.<name>.writable",
        Kind::List,
        "For `acp` with a `command`: folders where the agent keeps sessions and settings, such as [\"~/.my-agent\"].",
    ),
    Known::new(
        "agents.<name>.bin",
        Kind::Text,
        "The agent's program, where it is not the usual one on the PATH.",
    )
    .also(&["agents.<name>.binary"]),
    Known::new(
        "agents.<name>.extra_args",
        Kind::List,
        "Arguments added to the agent's own. Every user of the machine can see them: put no key here.",
    ),
    Known::new(
        "agents.<name>.extra_env.<variable>",
        Kind::AnyText,
        "A variable added to the agent's environment, which is otherwise nearly empty.",
    )
    .secret(),
    // With some agents the model's name also names its provider, and so who gets to read the code.
    Known::new(
        "agents.<name>.model",
        Kind::Text,
        "The model, by the name that the agent or the provider gives it.",
    ),
    Known::new(
        "agents.<name>.timeout_secs",
        Kind::Seconds,
        "How long one turn of this agent may take.",
    )
    .harmless()
    .also(&["agents.<name>.timeout_seconds"]),
    Known::new(
        "agents.<name>.permissions",
        Kind::Policy(&["allow", "deny", "ask"]),
        "The answer to an agent that asks whether it may do something; in a table, `default` and `rules` by `kind` (read, write, execute), `tool` and `path`, of which the first that fits is the `answer`.",
    ),
    Known::new(
        "agents.<name>.endpoint",
        Kind::Url,
        "The address of the model that the agent itself calls.",
    )
    .also(&["agents.<name>.sdk_url"]),
    Known::new(
        "agents.<name>.api_key_env",
        Kind::Variable,
        "The variable that holds the key for the endpoint; it is looked up in the environment, then in a trusted `.env`.",
    ),
    Known::new(
        "agents.<name>.api_spec",
        Kind::Choice(&["chat_completions", "responses"]),
        "Which of its APIs an `openai` model is asked through; chat completions by default.",
    ),
    Known::new(
        "agents.<name>.tool_mode",
        Kind::Choice(&["auto", "native", "schema", "text"]),
        "How a model calls tools: by the API's own calls (native), by an answer held to a JSON schema (schema), by a code fence in its text (text), or natively and, where it makes no such call, by the one in its text (auto, the default).",
    ),
    Known::new(
        "agents.<name>.schema_mode",
        Kind::Choice(&["auto", "native", "prompt", "none"]),
        "Who holds a model's structured answers to their schema: the API (native) or the prompt; by default the API, except with chat completions.",
    ),
    Known::new(
        "agents.<name>.tools",
        Kind::Flag,
        "Whether a model gets tools; true by default.",
    ),
    Known::new(
        "agents.<name>.stream",
        Kind::Flag,
        "Whether a model answers piece by piece; true by default.",
    ),
    Known::new(
        "agents.<name>.instructions",
        Kind::AnyText,
        "What a model is told before everything else, in place of Windlass's own words.",
    ),
    Known::new(
        "agents.<name>.max_steps",
        Kind::Count,
        "How many answers one turn of a model may take; 25 by default.",
    ),
    Known::new(
        "agents.<name>.max_tokens",
        Kind::Amount,
        "The most tokens of one answer of a model.",
    ),
    Known::new(
        "agents.<name>.token_budget",
        Kind::Amount,
        "The most tokens of one turn of a model, read and written together.",
    ),
    Known::new(
        "agents.<name>.cost_budget_usd",
        Kind::Amount,
        "The most dollars of one turn of a model; needs both prices.",
    ),
    Known::new(
        "agents.<name>.input_usd_per_mtok",
        Kind::Amount,
        "What a million tokens cost a model to read.",
    ),
    Known::new(
        "agents.<name>.output_usd_per_mtok",
        Kind::Amount,
        "What a million tokens cost a model to write.",
    ),
    Known::new(
        "agents.<name>.temperature",
        Kind::Amount,
        "How a model chooses its next token; 0 is the likeliest.",
    ),
    Known::new(
        "agents.<name>.request_timeout_secs",
        Kind::Seconds,
        "The longest silence of a model, before its answer and between two pieces of it; 120 by default.",
    )
    .harmless(),
    Known::new(
        "agents.<name>.max_retries",
        Kind::Amount,
        "How often a request to a model that failed is sent again; 2 by default.",
    ),
    Known::new(
        "agents.<name>.transport",
        Kind::Text,
        "How the agent's program is talked to, where it knows more than one way; `windlass agents` shows the one in use.",
    ),
    Known::new(
        "agents.<name>.profile",
        Kind::Text,
        "The profile of Codex's own configuration to use.",
    ),
    Known::new(
        "agents.<name>.expectations",
        Kind::Tables,
        "What a `mock` agent is to be asked, and its answers.",
    ),
    Known::new(
        "agents.<name>.script",
        Kind::Text,
        "The script that a `mock` agent plays, doing for real what its intents say.",
    ),
    Known::new(
        "agents.<name>.cassette",
        Kind::Text,
        "The recording that a `replay` agent plays.",
    ),
    Known::new(
        "agents.<name>.timing",
        Kind::Choice(&["instant", "recorded"]),
        "When the events of a `replay` agent come: at once, or as they were recorded.",
    ),
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
