//! Cursor's agent as a plain call.

use std::marker::PhantomData;
use std::path::Path;

use windlass_core::{AgentInvocation, StructuredAgentTask};

use super::error::InvocationError;
use super::run::CliRun;
use crate::cli::CommandLine;
use crate::cli::cursor::PROFILE;
use crate::{AgentContext, ProgramSettings};

/// The model where none is set.
pub const CURSOR_MODEL: &str = "gpt-5.1-codex-max-high";

/// The variable in which a deployment names another.
const MODEL_VARIABLE: &str = "WORKER_CURSOR_MODEL";

/// Cursor, one command per call. Errors come as `E`.
///
/// It is told no schema: whoever wants one puts it into the prompt. The prompt goes to standard input, since one
/// argument holds no more than 128 KiB and can be read by every user of the machine.
#[derive(Debug, Clone)]
pub struct CursorCliBackend<E = InvocationError> {
    context: AgentContext,
    settings: ProgramSettings,
    output_format: Option<String>,
    force: bool,
    errors: PhantomData<fn() -> E>,
}

impl CursorCliBackend {
    /// Cursor with its usual model, answering in plain text, allowed to act.
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

/// Cursor with the model that `WORKER_CURSOR_MODEL` names, if it names one.
pub fn cursor_backend_from_settings(context: AgentContext) -> CursorCliBackend {
    let named = context.sandbox().host().variable(MODEL_VARIABLE);
    let named = named.and_then(|name| name.to_str()).map(str::trim);
    let model = named.filter(|name| !name.is_empty()).map(str::to_owned);
    let backend = CursorCliBackend::new(context);
    match model {
        Some(model) => backend.model(model),
        None => backend,
    }
}

impl<E: From<InvocationError>> CursorCliBackend<E> {
    /// With these settings: `bin`, `model`, `timeout_seconds`, `extra_env` and the others that every agent has.
    /// Without a model among them, Cursor chooses one.
    #[must_use]
    pub fn settings(mut self, settings: ProgramSettings) -> Self {
        self.settings = settings;
        self
    }

    /// With this model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.settings.model = Some(model.into());
        self
    }

    /// Answers in this format; `None`: in Cursor's own choice.
    #[must_use]
    pub fn output_format(mut self, format: Option<&str>) -> Self {
        self.output_format = format.map(str::to_owned);
        self
    }

    /// Whether commands are allowed that nobody denied.
    #[must_use]
    pub fn force(mut self, yes: bool) -> Self {
        self.force = yes;
        self
    }

    /// The same backend with another type of error.
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

    /// Runs the task in this folder.
    pub async fn run(
        &self,
        task: &StructuredAgentTask,
        working_dir: impl AsRef<Path>,
    ) -> Result<AgentInvocation, E> {
        let run = CliRun {
            task: &task.name,
            profile: &PROFILE,
            program: self.settings.bin.as_deref().unwrap_or("cursor-agent"),
            context: &self.context,
            settings: &self.settings,
            command: self.command(),
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
