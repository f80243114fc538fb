//! Codex: `codex app-server` where the installed version has it, else `codex exec --json`.

mod app_server;
mod approvals;
mod exec;
mod items;
mod messages;

use serde_json::Value;
use windlass_core::{AgentHandle, Capabilities, Result};
use windlass_sandbox::Mechanism;

pub use app_server::AppServer;
pub use exec::ExecParser;

use super::{
    CliProfile, CliStatePaths, CommandLine, Endpoint, IoMode, PermissionGate, RunContext,
    SessionNaming, SessionStart, TempFileKind, Transport,
};
use crate::{AgentContext, Version};

/// The provider by which Codex knows another endpoint.
const PROVIDER: &str = "windlass";
const KEY: &str = "OPENAI_API_KEY";

/// Everything about Codex that is not its output.
pub const PROFILE: CliProfile = CliProfile {
    name: "codex",
    programs: &["codex"],
    install: "install it with `npm install -g @openai/codex`, then run `codex login`",
    home: CliStatePaths {
        variable: "CODEX_HOME",
        folder: ".codex",
        files: &[],
        sessions: Some("sessions"),
    },
    instructions: &["AGENTS.md"],
    keys: &[KEY, "CODEX_API_KEY"],
    endpoint: Some(endpoint),
    transports: &[APP_SERVER, EXEC],
};

const APP_SERVER: Transport = Transport {
    name: "app-server",
    // Earlier ones have it too, in shapes that were never seen here.
    since: Version(0, 130, 0),
    capabilities: Capabilities {
        streaming: true,
        load_session: true,
        tools: true,
        permissions: true,
        native_schema: true,
        mcp: true,
        model_choice: true,
        usage: true,
        cost: false,
    },
    naming: SessionNaming::AtStart,
    command: app_server_command,
    temp_files: &[],
    io: IoMode::Interactive(|call| Box::new(AppServer::new(call))),
};

const EXEC: Transport = Transport {
    name: "exec",
    since: Version(0, 40, 0),
    capabilities: Capabilities {
        streaming: false,
        permissions: false,
        mcp: false,
        ..APP_SERVER.capabilities
    },
    naming: SessionNaming::InFirstTurn,
    command: exec_command,
    temp_files: &[TempFileKind::Schema],
    io: IoMode::OneShot(|call| Box::new(ExecParser::new(call.turn, call.before))),
};

/// Makes Codex agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn app_server_command(call: &RunContext<'_>) -> CommandLine {
    let mut command = common(call);
    command.arg("app-server");
    command
}

fn exec_command(call: &RunContext<'_>) -> CommandLine {
    let mut command = common(call);
    command.arg("exec");
    if let SessionStart::Resume(_) = call.start {
        command.arg("resume");
    }
    command.arg("--json").arg("--skip-git-repo-check");
    // `resume` has no flag for the sandbox, and a folder that was once trusted changes the default.
    push_config(&mut command, "sandbox_mode", &toml_string(sandbox(call)));
    push_config(&mut command, "approval_policy", &toml_string("never"));
    if let (Some(words), SessionStart::Fresh) = (call.instructions, call.start) {
        push_config(&mut command, "developer_instructions", &toml_string(words));
    }
    if let Some(model) = call.model {
        command.option("model", model);
    }
    if let Some(file) = call.schema_file {
        command.option("output-schema", &file.display().to_string());
    }
    if let SessionStart::Resume(id) | SessionStart::Named(id) = call.start {
        command.arg(id);
    }
    command.arg("-");
    command
}

/// What both ways of starting Codex share, which stands before the subcommand.
fn common(call: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::default();
    // Names that look like keys are kept from the commands that the model runs.
    push_config(
        &mut command,
        "shell_environment_policy.ignore_default_excludes",
        "false",
    );
    // Else Codex would note the folder as trusted, and obey what a repository says in `.codex`.
    let folder = toml_string(&call.cwd.display().to_string());
    push_config(
        &mut command,
        "projects",
        &format!("{{{folder}={{trust_level=\"untrusted\"}}}}"),
    );
    if let Some(profile) = &call.settings.profile {
        command.option("profile", profile);
    }
    command
}

fn endpoint(endpoint: &Endpoint<'_>, command: &mut CommandLine) {
    let key = match endpoint.has_key {
        true => format!(",env_key={}", toml_string(KEY)),
        false => String::new(),
    };
    let provider = format!(
        "{{name={},base_url={},wire_api=\"responses\"{key}}}",
        toml_string(PROVIDER),
        toml_string(&endpoint.url_with_version()),
    );
    push_config(command, "model_provider", &toml_string(PROVIDER));
    push_config(command, &format!("model_providers.{PROVIDER}"), &provider);
}

/// How far Codex's own sandbox lets its tools go. Inside Landlock it could not start at all.
fn sandbox(call: &RunContext<'_>) -> &'static str {
    match PermissionGate::allows_everything(call) {
        true if call.walls == Mechanism::Landlock => "danger-full-access",
        true => "workspace-write",
        false => "read-only",
    }
}

/// `-c key=value`, in front: there every subcommand takes it.
fn push_config(command: &mut CommandLine, key: &str, value: &str) {
    command
        .args
        .splice(..0, ["-c".to_owned(), format!("{key}={value}")]);
}

/// A TOML string. JSON's is one.
pub(crate) fn toml_string(value: &str) -> String {
    Value::from(value).to_string()
}
