//! Keys of agents.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Number, Value};

use super::{KeySpec, WEEK, settings};
use crate::config::value_type::*;

settings! {
    /// Settings that are in no table.
    pub struct GeneralSettings at "" {
        /// The agent that is used if none is named.
        default_agent: Option<String> as Name, aliases(&["agent_backend"]), env_var("WINDLASS_AGENT");
    }
}

settings! {
    /// Settings of one agent.
    #[derive(Default)]
    pub struct AgentKeys at "agents.<name>." {
        /// The backend of the agent: codex, claude, cursor, qwen, gemini, opencode, copilot, goose, claude-agent-acp,
        /// codex-acp, kimi, pi-acp, vibe, fast-agent, openhands, auggie, cline, acp, ollama, openai, anthropic, mock, replay,
        /// or the name of your own backend. Default: the agent's name.
        backend: Option<String> as NonEmptyText;
        /// The program that implements the agent's protocol, with its arguments.
        command: Option<Vec<String>> as CommandWords, aliases(&["agents.<name>.agent_binary"]);
        /// For `acp`: the preset of a known agent; `command` then only defines how to start it. Default: that of the known
        /// agent that `command` starts, if any.
        preset: Option<String> as NonEmptyText;
        /// For ACP agents: the mode of their sessions, by the agent's own name for it.
        mode: Option<String> as NonEmptyText;
        /// For ACP agents: an option of their sessions, by the agent's own name for it.
        options["<option>"]: Option<BTreeMap<String, String>> as TextTable;
        /// Directories where the agent stores sessions and settings, if Windlass does not know them, such as
        /// ["~/.my-agent"]. Missing directories are created.
        writable: Option<Vec<String>> as TextList;
        /// Files and directories that the agent may read although the sandbox hides their parent directory, such as
        /// ["/tmp/toolchain"].
        readable: Option<Vec<String>> as TextList;
        /// Hosts that the agent may reach in addition to its provider and its endpoint, such as
        /// ["registry.example.com:443", "*.example.org:443"]; "open" for every host; "none" for no host at all. Default:
        /// its provider and its endpoint only.
        network: Option<Value> as Hosts;
        /// The agent's program, if it is not the usual one in PATH.
        bin: Option<String> as NonEmptyText, aliases(&["agents.<name>.binary"]);
        /// Additional arguments for the agent's program. Every user of the machine can see them: do not put a key here.
        extra_args: Option<Vec<String>> as TextList;
        /// An additional variable in the agent's environment, which is otherwise nearly empty. In its value, {endpoint},
        /// {model} and {api_key} are replaced by these settings of the agent.
        extra_env["<variable>"]: Option<BTreeMap<String, String>> as TextTable, secret;
        // For some agents the model's name also selects the provider, which then receives the code.
        /// The model, by the agent's or the provider's name for it. Default for `cursor`: `WORKER_CURSOR_MODEL`, otherwise
        /// gpt-5.1-codex-max-high; for `anthropic`: claude-sonnet-5; for `ollama`: qwen2.5-coder.
        model: Option<String> as NonEmptyText;
        /// Timeout of one turn of this agent, and of its start.
        timeout_secs: Option<Duration> as Seconds<WEEK>, aliases(&["agents.<name>.timeout_seconds"]);
        /// The answer to permission requests of the agent. A table has `default` and `rules` with `kind` (read, write,
        /// execute), `tool`, `path` and `answer`; the first matching rule applies. Default: requests are denied, but
        /// `windlass ask` asks you at a terminal, and a task's agent is allowed to act in its clone.
        permissions: Option<Value> as Policy;
        /// The URL of the model API that the agent calls.
        endpoint: Option<String> as Url, aliases(&["agents.<name>.sdk_url"]);
        /// The variable that holds the API key for the endpoint. It is read from the environment, or else from a trusted
        /// `.env`.
        api_key_env: Option<String> as SecretVariable;
        /// Variables with the keys of further accounts at the same provider, in addition to `api_key_env`. A program's call uses the
        /// first account that its provider does not limit. They need the bridge.
        more_api_key_envs: Option<Vec<String>> as SecretVariables;
        /// Maximum number of calls that one account makes at the same time, in each process of Windlass. Further ones wait, the
        /// oldest first. It needs the bridge.
        max_calls: Option<u32> as Count<1, 10_000>;
        /// Whether a program calls its model through the bridge, which keeps the API key and counts the calls (on, the default),
        /// or directly, with the key in its environment (off). Agents that are logged in themselves call directly, unless it is
        /// pass_through: Codex and Claude Code then call their own provider through the bridge with their own login.
        bridge: Option<&'static str> as BridgeWord;
        /// The API that is used for an `openai` model; chat completions by default.
        api_spec: Option<&'static str> as ApiSpecWord;
        /// How a model calls tools: with the API's tool calls (native), with an answer that matches a JSON schema
        /// (schema), with a code fence in its text (text), or as the family of the model suggests (auto, the default):
        /// schema for small ones, else natively and, if it makes no such call, with a code fence in its text.
        tool_mode: Option<&'static str> as ToolModeWord;
        /// How a model changes files in a task: with its tools (tools), with complete files in one JSON answer
        /// (whole_files), or as the family of the model suggests (auto, the default): whole_files for small ones, else
        /// its tools first, and complete files if it twice changes nothing. If the permissions are not `allow`, its
        /// tools are used.
        edit_mode: Option<&'static str> as EditModeWord;
        /// Maximum number of tokens of a prompt and its answer. Longer conversations are shortened, the oldest tool
        /// results first. Default: what the server tells, or else what is known about the model.
        context_window: Option<u32> as Count<512, 100_000_000>;
        /// How a schema for structured answers is enforced: by the API (native) or by the prompt; by default the API,
        /// except with chat completions.
        schema_mode: Option<&'static str> as SchemaModeWord;
        /// A file with the JSON schema that the agent enforces instead of that of a structured call, for example in the strict
        /// form that its provider requires. It applies to Codex, Claude Code and other programs that enforce a schema themselves,
        /// and only if the file exists. The answer is still validated against the schema of the call.
        schema_override: Option<String> as NonEmptyText;
        /// Whether a model gets tools; true by default.
        tools: Option<bool> as Bool;
        /// Whether responses of a model are streamed; true by default.
        stream: Option<bool> as Bool;
        /// System prompt for a model, replacing the built-in one.
        instructions: Option<String> as AnyText;
        /// Maximum number of model calls in one turn; 25 by default.
        max_steps: Option<u32> as Count<1, 10_000>;
        /// Maximum number of output tokens of one model call.
        max_tokens: Option<u32> as Count<1, 10_000_000>;
        /// Maximum number of tokens of one turn of a model, input and output together.
        token_budget: Option<u32> as Count<1, 1_000_000_000>;
        /// Maximum cost of one turn of a model, in US dollars; needs both prices.
        cost_budget_usd: Option<Number> as Amount<100_000>;
        /// Price of a million input tokens, in US dollars.
        input_usd_per_mtok: Option<Number> as Amount<100_000>;
        /// Price of a million output tokens, in US dollars.
        output_usd_per_mtok: Option<Number> as Amount<100_000>;
        /// Sampling temperature of a model; 0 always selects the most likely token.
        temperature: Option<Number> as Amount<2>;
        /// Idle timeout of a model request, before the first chunk and between chunks; 120 by default.
        request_timeout_secs: Option<Duration> as Seconds<WEEK>;
        /// Maximum number of retries of a failed model request; 2 by default.
        max_retries: Option<u32> as Count<0, 100>;
        /// The protocol of the agent's program, if it supports more than one; `windlass agents` shows the one in use.
        transport: Option<String> as NonEmptyText;
        /// The profile in Codex's own configuration to use. Codex takes it only over the transport `exec`, which is then
        /// the default.
        profile: Option<String> as NonEmptyText;
        /// The expected prompts of a `mock` agent and its answers.
        expectations: Option<Vec<Value>> as Tables;
        /// The script that a `mock` agent plays; its intents are executed for real.
        script: Option<String> as NonEmptyText;
        /// The cassette that a `replay` agent replays.
        cassette: Option<String> as NonEmptyText;
        /// The timing of the events of a `replay` agent: immediately, or as recorded.
        timing: Option<&'static str> as TimingWord;
    }
}
