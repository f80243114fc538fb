//! The keys of single agents.

use super::{Kind, Known};

/// Their rows.
pub(super) const ROWS: &[Known] = &[
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
        "Folders where the agent keeps sessions and settings, if Windlass does not know them, such as [\"~/.my-agent\"]. Missing folders are created.",
    ),
    Known::new(
        "agents.<name>.readable",
        Kind::List,
        "Files and folders that the agent may read although the sandbox hides what is around them, such as [\"/tmp/toolchain\"].",
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
        "The answer to an agent that asks whether it may do something; in a table, `default` and `rules` by `kind` (read, write, execute), `tool` and `path`, of which the first that fits is the `answer`. Without it the answer is no, but `windlass ask` at a terminal asks you, and in a clone of its own a task's agent may act.",
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
];
