//! Codex: `codex app-server` if the installed version has it, otherwise `codex exec --json`.

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
    CliProfile, IoMode, PermissionGate, RunContext, SessionNaming, SessionStart, TempFileKind,
    Transport,
};
use crate::AgentContext;
use crate::program::known::codex::{push_config, toml_string};
use crate::program::{CommandLine, Version, known};

/// The profile of Codex.
pub const PROFILE: CliProfile = CliProfile {
    program: &known::codex::PROGRAM,
    transports: &[APP_SERVER, EXEC],
    default_model: None,
};

const APP_SERVER: Transport = Transport {
    name: "app-server",
    // Earlier versions have it too, in formats that were never tested.
    since: Version(0, 130, 0),
    // `app-server` rejects `--profile`.
    takes_profile: false,
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
    io: IoMode::Interactive(|run| Box::new(AppServer::new(run))),
};

const EXEC: Transport = Transport {
    name: "exec",
    since: Version(0, 40, 0),
    takes_profile: true,
    capabilities: Capabilities {
        streaming: false,
        permissions: false,
        mcp: false,
        ..APP_SERVER.capabilities
    },
    naming: SessionNaming::InFirstTurn,
    command: exec_command,
    temp_files: &[TempFileKind::Schema],
    io: IoMode::OneShot(|run| Box::new(ExecParser::new(run.turn, run.before))),
};

/// Returns a factory that creates Codex agents from their configuration.
pub fn factory(
    context: AgentContext,
) -> impl Fn(&Value) -> Result<AgentHandle> + Send + Sync + 'static {
    super::factory(&PROFILE, context)
}

fn app_server_command(run: &RunContext<'_>) -> CommandLine {
    let mut command = common(run);
    command.arg("app-server");
    command
}

fn exec_command(run: &RunContext<'_>) -> CommandLine {
    let mut command = common(run);
    command.arg("exec");
    if let SessionStart::Resume(_) = run.start {
        command.arg("resume");
    }
    command.arg("--json").arg("--skip-git-repo-check");
    // `resume` has no flag for the sandbox, and a directory that was trusted before changes the default.
    push_config(&mut command, "sandbox_mode", &toml_string(sandbox(run)));
    push_config(&mut command, "approval_policy", &toml_string("never"));
    if let (Some(instructions), SessionStart::Fresh) = (run.instructions, run.start) {
        push_config(
            &mut command,
            "developer_instructions",
            &toml_string(instructions),
        );
    }
    if let Some(model) = run.model {
        command.option("model", model);
    }
    if let Some(file) = run.schema_file {
        command.option("output-schema", &file.display().to_string());
    }
    if let SessionStart::Resume(id) | SessionStart::Named(id) = run.start {
        command.arg(id);
    }
    command.arg("-");
    command
}

/// Builds the arguments before the subcommand, which both transports share.
fn common(run: &RunContext<'_>) -> CommandLine {
    let mut command = CommandLine::default();
    // Variables with names that look like keys are hidden from the commands that the model runs.
    push_config(
        &mut command,
        "shell_environment_policy.ignore_default_excludes",
        "false",
    );
    // Otherwise Codex would record the directory as trusted and apply the repository's `.codex`.
    let dir = toml_string(&run.cwd.display().to_string());
    push_config(
        &mut command,
        "projects",
        &format!("{{{dir}={{trust_level=\"untrusted\"}}}}"),
    );
    if let Some(profile) = &run.settings.profile {
        command.option("profile", profile);
    }
    command
}

/// Returns the mode of Codex's own sandbox. Inside Landlock it could not start at all.
fn sandbox(run: &RunContext<'_>) -> &'static str {
    if !PermissionGate::allows_everything(run) {
        "read-only"
    } else if run.mechanism == Mechanism::Landlock {
        "danger-full-access"
    } else {
        "workspace-write"
    }
}
