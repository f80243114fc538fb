//! The keys of single agents.

use super::{KeySpec, ValueKind};

/// Their rows.
pub(super) const ROWS: &[KeySpec] = &[
    KeySpec::new(
        "default_agent",
        ValueKind::Name,
        "The agent that answers when none is named.",
    )
    .with_aliases(&["agent_backend"])
    .with_env_var("WINDLASS_AGENT"),
    KeySpec::new(
        "agents.<name>.backend",
        ValueKind::Text,
        "How the agent is reached: codex, claude, cursor, qwen, gemini, opencode, copilot, goose, claude-agent-acp, codex-acp, acp, ollama, openai, anthropic, mock, replay, or the name of a backend of your own. Without it, the agent's name.",
    ),
    KeySpec::new(
        "agents.<name>.command",
        ValueKind::Command,
        "The program that speaks the agent's protocol, with its arguments.",
    )
    .with_aliases(&["agents.<name>.agent_binary"]),
    KeySpec::new(
        "agents.<name>.preset",
        ValueKind::Text,
        "For `acp`: which of the agents known by name it is; `command` then only says how to start it.",
    ),
    KeySpec::new(
        "agents.<name>.mode",
        ValueKind::Text,
        "For agents reached by ACP: the mode of their sessions, by the name that the agent gives it.",
    ),
    KeySpec::new(
        "agents.<name>.options.<option>",
        ValueKind::AnyText,
        "For agents reached by ACP: an option of their sessions, by the name that the agent gives it.",
    ),
    KeySpec::new(
        "agents.<name>.writable",
        ValueKind::List,
        "Folders where the agent keeps sessions and settings, if Windlass does not know them, such as [\"~/.my-agent\"]. Missing folders are created.",
    ),
    KeySpec::new(
        "agents.<name>.readable",
        ValueKind::List,
        "Files and folders that the agent may read although the sandbox hides what is around them, such as [\"/tmp/toolchain\"].",
    ),
    KeySpec::new(
        "agents.<name>.bin",
        ValueKind::Text,
        "The agent's program, where it is not the usual one on the PATH.",
    )
    .with_aliases(&["agents.<name>.binary"]),
    KeySpec::new(
        "agents.<name>.extra_args",
        ValueKind::List,
        "Arguments added to the agent's own. Every user of the machine can see them: put no key here.",
    ),
    KeySpec::new(
        "agents.<name>.extra_env.<variable>",
        ValueKind::AnyText,
        "A variable added to the agent's environment, which is otherwise nearly empty.",
    )
    .secret(),
    // With some agents the model's name also names its provider, and so who gets to read the code.
    KeySpec::new(
        "agents.<name>.model",
        ValueKind::Text,
        "The model, by the name that the agent or the provider gives it.",
    ),
    KeySpec::new(
        "agents.<name>.timeout_secs",
        ValueKind::Seconds,
        "How long one turn of this agent may take.",
    )
    .without_trust()
    .with_aliases(&["agents.<name>.timeout_seconds"]),
    KeySpec::new(
        "agents.<name>.permissions",
        ValueKind::Policy(&["allow", "deny", "ask"]),
        "The answer to an agent that asks whether it may do something; in a table, `default` and `rules` by `kind` (read, write, execute), `tool` and `path`, of which the first that fits is the `answer`. Without it the answer is no, but `windlass ask` at a terminal asks you, and in a clone of its own a task's agent may act.",
    ),
    KeySpec::new(
        "agents.<name>.endpoint",
        ValueKind::Url,
        "The address of the model that the agent itself calls.",
    )
    .with_aliases(&["agents.<name>.sdk_url"]),
    KeySpec::new(
        "agents.<name>.api_key_env",
        ValueKind::Variable,
        "The variable that holds the key for the endpoint; it is looked up in the environment, then in a trusted `.env`.",
    ),
    KeySpec::new(
        "agents.<name>.api_spec",
        ValueKind::Choice(&["chat_completions", "responses"]),
        "Which of its APIs an `openai` model is asked through; chat completions by default.",
    ),
    KeySpec::new(
        "agents.<name>.tool_mode",
        ValueKind::Choice(&["auto", "native", "schema", "text"]),
        "How a model calls tools: by the API's own calls (native), by an answer held to a JSON schema (schema), by a code fence in its text (text), or natively and, where it makes no such call, by the one in its text (auto, the default).",
    ),
    KeySpec::new(
        "agents.<name>.schema_mode",
        ValueKind::Choice(&["auto", "native", "prompt", "none"]),
        "Who holds a model's structured answers to their schema: the API (native) or the prompt; by default the API, except with chat completions.",
    ),
    KeySpec::new(
        "agents.<name>.tools",
        ValueKind::Flag,
        "Whether a model gets tools; true by default.",
    ),
    KeySpec::new(
        "agents.<name>.stream",
        ValueKind::Flag,
        "Whether a model answers piece by piece; true by default.",
    ),
    KeySpec::new(
        "agents.<name>.instructions",
        ValueKind::AnyText,
        "What a model is told before everything else, in place of Windlass's own words.",
    ),
    KeySpec::new(
        "agents.<name>.max_steps",
        ValueKind::Count,
        "How many answers one turn of a model may take; 25 by default.",
    ),
    KeySpec::new(
        "agents.<name>.max_tokens",
        ValueKind::Amount,
        "The most tokens of one answer of a model.",
    ),
    KeySpec::new(
        "agents.<name>.token_budget",
        ValueKind::Amount,
        "The most tokens of one turn of a model, read and written together.",
    ),
    KeySpec::new(
        "agents.<name>.cost_budget_usd",
        ValueKind::Amount,
        "The most dollars of one turn of a model; needs both prices.",
    ),
    KeySpec::new(
        "agents.<name>.input_usd_per_mtok",
        ValueKind::Amount,
        "What a million tokens cost a model to read.",
    ),
    KeySpec::new(
        "agents.<name>.output_usd_per_mtok",
        ValueKind::Amount,
        "What a million tokens cost a model to write.",
    ),
    KeySpec::new(
        "agents.<name>.temperature",
        ValueKind::Amount,
        "How a model chooses its next token; 0 is the likeliest.",
    ),
    KeySpec::new(
        "agents.<name>.request_timeout_secs",
        ValueKind::Seconds,
        "The longest silence of a model, before its answer and between two pieces of it; 120 by default.",
    )
    .without_trust(),
    KeySpec::new(
        "agents.<name>.max_retries",
        ValueKind::Amount,
        "How often a request to a model that failed is sent again; 2 by default.",
    ),
    KeySpec::new(
        "agents.<name>.transport",
        ValueKind::Text,
        "How the agent's program is talked to, where it knows more than one way; `windlass agents` shows the one in use.",
    ),
    KeySpec::new(
        "agents.<name>.profile",
        ValueKind::Text,
        "The profile of Codex's own configuration to use.",
    ),
    KeySpec::new(
        "agents.<name>.expectations",
        ValueKind::Tables,
        "What a `mock` agent is to be asked, and its answers.",
    ),
    KeySpec::new(
        "agents.<name>.script",
        ValueKind::Text,
        "The script that a `mock` agent plays, doing for real what its intents say.",
    ),
    KeySpec::new(
        "agents.<name>.cassette",
        ValueKind::Text,
        "The recording that a `replay` agent plays.",
    ),
    KeySpec::new(
        "agents.<name>.timing",
        ValueKind::Choice(&["instant", "recorded"]),
        "When the events of a `replay` agent come: at once, or as they were recorded.",
    ),
];
