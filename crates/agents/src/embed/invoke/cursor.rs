//! Cursor's agent as a one-shot invocation.

use std::marker::PhantomData;
use std::path::Path;

use futures::future::BoxFuture;
use windlass_core::structured::InvocationFailure;
use windlass_core::{AgentInvocation, DirAccess, InvocationBackend, StructuredAgentTask};

use super::error::InvocationError;
use super::run::CliRun;
use crate::program::CommandLine;
use crate::program::known::cursor::{MODEL, PROGRAM};
use crate::{AgentContext, ProgramSettings};

/// The default model.
pub const CURSOR_MODEL: &str = MODEL.name;

/// Cursor, one command per call. Errors are converted to `E`.
///
/// Cursor takes no schema: a caller that needs one puts it into the prompt. The prompt is passed on standard
/// input, because one argument is limited to 128 KiB and every user of the machine can read it.
#[derive(Debug, Clone)]
pub struct CursorCliBackend<E = InvocationError> {
    context: AgentContext,
    settings: ProgramSettings,
    output_format: Option<String>,
    force: bool,
    errors: PhantomData<fn() -> E>,
}

impl CursorCliBackend {
    /// Creates a backend with the default model, plain text output and `--force`.
    pub fn new(context: AgentContext) -> Self {
        Self {
            context,
            settings: ProgramSettings {
                model: Some(CURSOR_MODEL.to_owned()),
                ..ProgramSettings::default()
            },
            output_format: Some("text".to_owned()),
            force: true,
            errors: PhantomData,
        }
    }
}

/// Creates a backend with the model in `WORKER_CURSOR_MODEL`, if that is set.
pub fn cursor_backend_from_settings(context: AgentContext) -> CursorCliBackend {
    let model = MODEL.get(&context);
    CursorCliBackend::new(context).model(model)
}

impl<E: From<InvocationError>> CursorCliBackend<E> {
    /// Sets the settings: `bin`, `model`, `timeout_seconds`, `extra_env` and the others that every agent has.
    /// Without a model in the settings, Cursor chooses one.
    #[must_use]
    pub fn settings(mut self, settings: ProgramSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.settings.model = Some(model.into());
        self
    }

    /// Sets the output format. With `None`, Cursor chooses it.
    #[must_use]
    pub fn output_format(mut self, format: Option<&str>) -> Self {
        self.output_format = format.map(str::to_owned);
        self
    }

    /// Sets whether commands are allowed that are not explicitly denied.
    #[must_use]
    pub fn force(mut self, yes: bool) -> Self {
        self.force = yes;
        self
    }

    /// Converts errors to another type.
    #[must_use]
    pub fn errors_as<F: From<InvocationError>>(self) -> CursorCliBackend<F> {
        CursorCliBackend {
            context: self.context,
            settings: self.settings,
            output_format: self.output_format,
            force: self.force,
            errors: PhantomData,
        }
    }

    /// Runs the task in this directory.
    pub async fn run(
        &self,
        task: &StructuredAgentTask,
        working_dir: impl AsRef<Path>,
    ) -> Result<AgentInvocation, E> {
        let run = CliRun {
            task: &task.name,
            program: &PROGRAM,
            path: self.settings.bin.as_deref().unwrap_or("cursor-agent"),
            context: &self.context,
            settings: &self.settings,
            command: self.command(),
            access: DirAccess::Files,
            prompt: &task.prompt,
            read: None,
        };
        Ok(run.run(working_dir.as_ref()).await?)
    }

    fn command(&self) -> CommandLine {
        let mut command = CommandLine::new(["-p"]);
        if let Some(model) = &self.settings.model {
            command.option("model", model);
        }
        if let Some(format) = &self.output_format {
            command.option("output-format", format);
        }
        if self.force {
            command.arg("--force");
        }
        command
    }
}

impl<E> InvocationBackend for CursorCliBackend<E>
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
