//! `codex exec` as a one-shot invocation.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use tempfile::TempPath;
use windlass_core::structured::InvocationFailure;
use windlass_core::{
    AgentInvocation, DirAccess, InvocationBackend, SchemaMode, StructuredAgentTask,
};

use super::error::InvocationError;
use super::run::{CliRun, failure};
use crate::program::known::codex::{PROGRAM, toml_string};
use crate::program::{CommandLine, Version, find, temp_files};
use crate::{AgentContext, ProgramSettings};

/// From this version on, `--full-auto` prints a warning, and later versions removed it. Separate flags replace
/// it.
const SANDBOX_FLAGS: Version = Version(0, 128, 0);

/// Codex, one command per call. Errors are converted to `E`.
#[derive(Debug, Clone)]
pub struct CodexCliBackend<E = InvocationError> {
    context: AgentContext,
    settings: ProgramSettings,
    schema_override: Option<PathBuf>,
    full_auto: bool,
    errors: PhantomData<fn() -> E>,
}

impl CodexCliBackend {
    /// Creates a backend with default settings.
    pub fn new(context: AgentContext) -> Self {
        Self {
            context,
            settings: ProgramSettings::default(),
            schema_override: None,
            full_auto: false,
            errors: PhantomData,
        }
    }
}

impl<E: From<InvocationError>> CodexCliBackend<E> {
    /// Sets the settings: `bin`, `profile`, `timeout_seconds`, `extra_env` and the others that every agent has.
    #[must_use]
    pub fn settings(mut self, settings: ProgramSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Uses the schema in this file, if the file exists, instead of the task's.
    #[must_use]
    pub fn schema_override(mut self, file: impl Into<PathBuf>) -> Self {
        self.schema_override = Some(file.into());
        self
    }

    /// Allows Codex to write in the working directory without asking.
    #[must_use]
    pub fn full_auto(mut self, yes: bool) -> Self {
        self.full_auto = yes;
        self
    }

    /// Converts errors to another type.
    #[must_use]
    pub fn errors_as<F: From<InvocationError>>(self) -> CodexCliBackend<F> {
        CodexCliBackend {
            context: self.context,
            settings: self.settings,
            schema_override: self.schema_override,
            full_auto: self.full_auto,
            errors: PhantomData,
        }
    }

    /// Runs the task in this directory.
    pub async fn run(
        &self,
        task: &StructuredAgentTask,
        working_dir: impl AsRef<Path>,
    ) -> Result<AgentInvocation, E> {
        Ok(self.call(task, working_dir.as_ref()).await?)
    }

    async fn call(
        &self,
        task: &StructuredAgentTask,
        cwd: &Path,
    ) -> Result<AgentInvocation, InvocationError> {
        let failed =
            |error: windlass_core::Error| failure(&task.name, error.to_string(), error.code());
        let mut command = CommandLine::new(["exec"]);
        if self.full_auto {
            full_auto(&mut command, self.version().await.map_err(failed)?);
        }
        let schema = self.schema(task).map_err(failed)?;
        if let Some(file) = &schema {
            command.option("output-schema", &file.path().display().to_string());
        }
        if let Some(profile) = &self.settings.profile {
            command.option("profile", profile);
        }
        let run = CliRun {
            task: &task.name,
            program: &PROGRAM,
            path: self.settings.bin.as_deref().unwrap_or("codex"),
            context: &self.context,
            settings: &self.settings,
            command,
            access: if self.full_auto {
                DirAccess::Files
            } else {
                DirAccess::ReadOnly
            },
            prompt: &task.prompt,
            read: schema.as_ref().map(SchemaFile::path),
        };
        // A temporary schema file is removed on every path out of this function.
        run.run(cwd).await
    }

    async fn version(&self) -> windlass_core::Result<Version> {
        let path = find::find(&PROGRAM, &self.settings, &self.context)?;
        find::version(&PROGRAM, path, &self.settings, &self.context).await
    }

    fn schema(&self, task: &StructuredAgentTask) -> windlass_core::Result<Option<SchemaFile>> {
        if task.schema_mode != SchemaMode::Native {
            return Ok(None);
        }
        if let Some(file) = self.schema_override.as_ref().filter(|file| file.is_file()) {
            return Ok(Some(SchemaFile::User(file.clone())));
        }
        let written = task.schema.as_ref().map(|schema| {
            temp_files::write(self.context.state_dir(), temp_files::SCHEMA_PREFIX, schema)
                .map(SchemaFile::Temporary)
        });
        written.transpose()
    }
}

impl<E> InvocationBackend for CodexCliBackend<E>
where
    E: From<InvocationError> + std::error::Error + Send + Sync + 'static,
{
    fn run<'a>(
        &'a self,
        task: &'a StructuredAgentTask,
        working_dir: &'a Path,
    ) -> BoxFuture<'a, Result<AgentInvocation, InvocationFailure>> {
        Box::pin(async move { Ok(self.run(task, working_dir).await?) })
    }
}

/// A file with a JSON Schema: the user's, or a temporary one that is deleted on drop.
enum SchemaFile {
    User(PathBuf),
    Temporary(TempPath),
}

impl SchemaFile {
    fn path(&self) -> &Path {
        match self {
            Self::User(file) => file,
            Self::Temporary(file) => file,
        }
    }
}

fn full_auto(command: &mut CommandLine, version: Version) {
    if version < SANDBOX_FLAGS {
        command.arg("--full-auto");
        return;
    }
    command.option("sandbox", "workspace-write");
    command
        .arg("-c")
        .arg(format!("approval_policy={}", toml_string("never")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_auto_uses_the_flags_of_the_version() {
        let args_for = |version| {
            let mut command = CommandLine::new(["exec"]);
            full_auto(&mut command, version);
            command.args.join(" ")
        };
        assert_eq!(args_for(Version(0, 47, 0)), "exec --full-auto");
        assert_eq!(
            args_for(Version(0, 166, 0)),
            "exec --sandbox=workspace-write -c approval_policy=\"never\""
        );
    }
}
