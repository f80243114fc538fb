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
pub use exec::Exec;

use super::{Call, Command, Door, Endpoint, Gate, Home, Naming, Paper, Profile, Start, Transport};
use crate::{AgentContext, Version};

/// The provider by which Codex knows another endpoint.
const PROVIDER: &str = "windlass";
const KEY: &str = "OPENAI_API_KEY";

/// Everything about Codex that is not its output.
pub const PROFILE: Profile = Profile {
    name: "codex",
    programs: &["codex"],
    install: "install it with `npm install -g @openai/codex`, then run `codex login`",
    home: Home {
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
    naming: Naming::Announced,
    command: app_server_command,
    papers: &[],
    door: Door::Dialog(|call| Box::new(AppServer::new(call))),
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
    naming: Naming::Late,
    command: exec_command,
    papers: &[Paper::Schema],
    door: Door::Once(|call| Box::new(Exec::new(call.turn, call.before))),
};

/// Makes Codex agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn app_server_command(call: &Call<'_>) -> Command {
    let mut command = common(call);
    command.arg("app-server");
    command
}

fn exec_command(call: &Call<'_>) -> Command {
    let mut command = common(call);
    command.arg("exec");
    if let Start::Resume(_) = call.start {
        command.arg("resume");
    }
    command.arg("--json").arg("--skip-git-repo-check");
    // `resume` has no flag for the sandbox, and a folder that was once trusted changes the default.
    set(&mut command, "sandbox_mode", &text(sandbox(call)));
    set(&mut command, "approval_policy", &text("never"));
    if let (Some(words), Start::Fresh) = (call.instructions, call.start) {
        set(&mut command, "developer_instructions", &text(words));
    }
    if let Some(model) = call.model {
        command.option("model", model);
    }
    if let Some(file) = call.schema_file {
        command.option("output-schema", &file.display().to_string());
    }
    if let Start::Resume(id) | Start::Named(id) = call.start {
        command.arg(id);
    }
    command.arg("-");
    command
}

/// What both ways of starting Codex share, which stands before the subcommand.
fn common(call: &Call<'_>) -> Command {
    let mut command = Command::default();
    // Names that look like keys are kept from the commands that the model runs.
    set(
        &mut command,
        "shell_environment_policy.ignore_default_excludes",
        "false",
    );
    // Else Codex would note the folder as trusted, and obey what a repository says in `.codex`.
    let folder = text(&call.cwd.display().to_string());
    set(
        &mut command,
        "projects",
        &format!("{{{folder}={{trust_level=\"untrusted\"}}}}"),
    );
    if let Some(profile) = &call.settings.profile {
        command.option("profile", profile);
    }
    command
}

fn endpoint(endpoint: &Endpoint<'_>, command: &mut Command) {
    let key = match endpoint.has_key {
        true => format!(",env_key={}", text(KEY)),
        false => String::new(),
    };
    let provider = format!(
        "{{name={},base_url={},wire_api=\"responses\"{key}}}",
        text(PROVIDER),
        text(&endpoint.versioned()),
    );
    set(command, "model_provider", &text(PROVIDER));
    set(command, &format!("model_providers.{PROVIDER}"), &provider);
}

/// How far Codex's own sandbox lets its tools go. Inside Landlock it could not start at all.
fn sandbox(call: &Call<'_>) -> &'static str {
    match Gate::is_open(call) {
        true if call.walls == Mechanism::Landlock => "danger-full-access",
        true => "workspace-write",
        false => "read-only",
    }
}

/// `-c key=value`, in front: there every subcommand takes it.
fn set(command: &mut Command, key: &str, value: &str) {
    command
        .args
        .splice(..0, ["-c".to_owned(), format!("{key}={value}")]);
}

/// A TOML string. JSON's is one.
pub(crate) fn text(value: &str) -> String {
    Value::from(value).to_string()
}
