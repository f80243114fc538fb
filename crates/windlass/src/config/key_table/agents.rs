//! Keys of agents.

use super::{KeySpec, ValueKind};

/// The rows of agents.
pub(super) const ROWS: &[KeySpec] = &[
    KeySpec::new(
        "default_agent",
        ValueKind::Name,
        "The agent that is used if none is named.",
    )
    .with_aliases(&["agent_backend"])
    .with_env_var("WINDLASS_AGENT"),
    KeySpec::new(
        "agents.<name>.backend",
        ValueKind::Text,
        "The backend of the agent: codex, claude, cursor, qwen, gemini, opencode, copilot, goose, claude-agent-acp, codex-acp, acp, ollama, openai, anthropic, mock, replay, or the name of your own backend. Default: the agent's name.",
    ),
    KeySpec::new(
        "agents.<name>.command",
        ValueKind::Command,
        "The program that implements the agent's protocol, with its arguments.",
    )
    .with_aliases(&["agents.<name>.agent_binary"]),
    KeySpec::new(
        "agents.<name>.preset",
        ValueKind::Text,
        "For `acp`: the preset of a known agent; `command` then only defines how to start it.",
    ),
    KeySpec::new(
        "agents.<name>.mode",
        ValueKind::Text,
        "For ACP agents: the mode of their sessions, by the agent's own name for it.",
    ),
    KeySpec::new(
        "agents.<name>.options.<option>",
        ValueKind::AnyText,
        "For ACP agents: an option of their sessions, by the agent's own name for it.",
    ),
    KeySpec::new(
        "agents.<name>.writable",
        ValueKind::List,
        "Directories where the agent stores sessions and settings, if Windlass does not know them, such as [\"~/.my-agent\"]. Missing directories are created.",
    ),
    KeySpec::new(
        "agents.<name>.readable",
        ValueKind::List,
        "Files and directories that the agent may read although the sandbox hides their parent directory, such as [\"/tmp/toolchain\"].",
    ),
    KeySpec::new(
        "agents.<name>.network",
        ValueKind::ListOr(&["open", "none"]),
        "Hosts that the agent may reach besides its provider and its endpoint, such as [\"registry.example.com:443\", \"*.example.org:443\"]; \"open\" for every host; \"none\" for no host at all. Default: its provider and its endpoint only.",
    ),
    KeySpec::new(
        "agents.<name>.bin",
        ValueKind::Text,
        "The agent's program, if it is not the usual one in PATH.",
    )
    .with_aliases(&["agents.<name>.binary"]),
    KeySpec::new(
        "agents.<name>.extra_args",
        ValueKind::List,
        "Additional arguments for the agent's program. Every user of the machine can see them: do not put a key here.",
    ),
    KeySpec::new(
        "agents.<name>.extra_env.<variable>",
        ValueKind::AnyText,
        "An additional variable in the agent's environment, which is otherwise nearly empty.",
    )
    .secret(),
    // For some agents the model's name also selects the provider, which then receives the code.
    KeySpec::new(
        "agents.<name>.model",
        ValueKind::Text,
        "The model, by the agent's or the provider's name for it.",
    ),
    KeySpec::new(
        "agents.<name>.timeout_secs",
        ValueKind::Seconds,
        "Timeout of one turn of this agent.",
    )
    .without_trust()
    .with_aliases(&["agents.<name>.timeout_seconds"]),
    KeySpec::new(
        "agents.<name>.permissions",
        ValueKind::Policy(&["allow", "deny", "ask"]),
        "The answer to permission requests of the agent. A table has `default` and `rules` with `kind` (read, write, execute), `tool`, `path` and `answer`; the first matching rule applies. Default: requests are denied, but `windlass ask` asks you at a terminal, and a task's agent is allowed to act in its clone.",
    ),
    KeySpec::new(
        "agents.<name>.endpoint",
        ValueKind::Url,
        "The URL of the model API that the agent calls.",
    )
    .with_aliases(&["agents.<name>.sdk_url"]),
    KeySpec::new(
        "agents.<name>.api_key_env",
        ValueKind::Variable,
        "The variable that holds the API key for the endpoint. It is read from the environment, or else from a trusted `.env`.",
    ),
    KeySpec::new(
        "agents.<name>.api_spec",
        ValueKind::Choice(&["chat_completions", "responses"]),
        "The API that is used for an `openai` model; chat completions by default.",
    ),
    KeySpec::new(
        "agents.<name>.tool_mode",
        ValueKind::Choice(&["auto", "native", "schema", "text"]),
        "How a model calls tools: with the API's tool calls (native), with an answer that matches a JSON schema (schema), with a code fence in its text (text), or natively and, if it makes no such call, with a code fence in its text (auto, the default).",
    ),
    KeySpec::new(
        "agents.<name>.schema_mode",
        ValueKind::Choice(&["auto", "native", "prompt", "none"]),
        "How a schema for structured answers is enforced: by the API (native) or by the prompt; by default the API, except with chat completions.",
    ),
    KeySpec::new(
        "agents.<name>.tools",
        ValueKind::Flag,
        "Whether a model gets tools; true by default.",
    ),
    KeySpec::new(
        "agents.<name>.stream",
        ValueKind::Flag,
        "Whether responses of a model are streamed; true by default.",
    ),
    KeySpec::new(
        "agents.<name>.instructions",
        ValueKind::AnyText,
        "System prompt for a model, replacing the built-in one.",
    ),
    KeySpec::new(
        "agents.<name>.max_steps",
        ValueKind::Count,
        "Maximum number of model calls in one turn; 25 by default.",
    ),
    KeySpec::new(
        "agents.<name>.max_tokens",
        ValueKind::Amount,
        "Maximum number of output tokens of one model call.",
    ),
    KeySpec::new(
        "agents.<name>.token_budget",
        ValueKind::Amount,
        "Maximum number of tokens of one turn of a model, input and output together.",
    ),
    KeySpec::new(
        "agents.<name>.cost_budget_usd",
        ValueKind::Amount,
        "Maximum cost of one turn of a model, in US dollars; needs both prices.",
    ),
    KeySpec::new(
        "agents.<name>.input_usd_per_mtok",
        ValueKind::Amount,
        "Price of a million input tokens, in US dollars.",
    ),
    KeySpec::new(
        "agents.<name>.output_usd_per_mtok",
        ValueKind::Amount,
        "Price of a million output tokens, in US dollars.",
    ),
    KeySpec::new(
        "agents.<name>.temperature",
        ValueKind::Amount,
        "Sampling temperature of a model; 0 always selects the most likely token.",
    ),
    KeySpec::new(
        "agents.<name>.request_timeout_secs",
        ValueKind::Seconds,
        "Idle timeout of a model request, before the first chunk and between chunks; 120 by default.",
    )
    .without_trust(),
    KeySpec::new(
        "agents.<name>.max_retries",
        ValueKind::Amount,
        "Maximum number of retries of a failed model request; 2 by default.",
    ),
    KeySpec::new(
        "agents.<name>.transport",
        ValueKind::Text,
        "The protocol of the agent's program, if it supports more than one; `windlass agents` shows the one in use.",
    ),
    KeySpec::new(
        "agents.<name>.profile",
        ValueKind::Text,
        "The profile in Codex's own configuration to use.",
    ),
    KeySpec::new(
        "agents.<name>.expectations",
        ValueKind::Tables,
        "The expected prompts of a `mock` agent and its answers.",
    ),
    KeySpec::new(
        "agents.<name>.script",
        ValueKind::Text,
        "The script that a `mock` agent plays; its intents are executed for real.",
    ),
    KeySpec::new(
        "agents.<name>.cassette",
        ValueKind::Text,
        "The cassette that a `replay` agent replays.",
    ),
    KeySpec::new(
        "agents.<name>.timing",
        ValueKind::Choice(&["instant", "recorded"]),
        "The timing of the events of a `replay` agent: immediately, or as recorded.",
    ),
];
