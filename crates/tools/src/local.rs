//! The toolbox with all tools, bound to a directory of this machine.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{DirAccess, Error, Result, Tool, Toolbox};
use windlass_sandbox::{Mechanism, Sandbox};
use windlass_workspace::paths::Root;

use crate::files::{FsEdit, FsList, FsRead, FsWrite};
use crate::handler::tool;
use crate::patch::ApplyPatch;
use crate::run::{CommandLimits, CommandRunner, PythonRun, ShellRun};
use crate::search::Search;

/// Provides tools that work on this machine: files directly, commands in the sandbox.
#[derive(Debug, Clone)]
pub struct LocalTools {
    sandbox: Result<Sandbox, String>,
    limits: CommandLimits,
    allowed: Vec<String>,
}

impl LocalTools {
    /// Creates a toolbox that runs commands in this sandbox. If the sandbox has no isolation, no command is
    /// run; see [`unconfined`](Self::unconfined).
    pub fn new(sandbox: Sandbox) -> Self {
        let sandbox = match sandbox.mechanism() {
            Mechanism::None => Err("no isolation: the sandbox was turned off".to_owned()),
            _ => Ok(sandbox),
        };
        Self::with_sandbox(sandbox)
    }

    /// Creates a toolbox that runs no commands and reports the reason. Files can be read and written.
    pub fn without_isolation(reason: impl Into<String>) -> Self {
        Self::with_sandbox(Err(reason.into()))
    }

    /// Creates a toolbox that runs commands even without isolation. Use it only on the user's explicit
    /// request.
    pub fn unconfined(sandbox: Sandbox) -> Self {
        Self::with_sandbox(Ok(sandbox))
    }

    fn with_sandbox(sandbox: Result<Sandbox, String>) -> Self {
        Self {
            sandbox,
            limits: CommandLimits::default(),
            allowed: Vec::new(),
        }
    }

    /// Sets the limits of a command.
    pub fn limits(mut self, limits: CommandLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds commands that `shell_run` accepts in addition to [`ALLOWED_COMMANDS`](crate::ALLOWED_COMMANDS).
    pub fn allow_commands<N: Into<String>>(
        mut self,
        commands: impl IntoIterator<Item = N>,
    ) -> Self {
        self.allowed.extend(commands.into_iter().map(Into::into));
        self
    }
}

impl Toolbox for LocalTools {
    fn tools(&self, root: &Path, access: DirAccess) -> Result<Vec<Arc<dyn Tool>>> {
        let root =
            Root::open(root).map_err(|error| Error::InvalidInput(format!("workspace: {error}")))?;
        let runner = Arc::new(CommandRunner::new(
            self.sandbox.clone(),
            root.path(),
            access,
            self.limits.clone(),
            self.allowed.clone(),
        ));
        Ok(vec![
            tool(FsRead(root.clone())),
            tool(FsWrite(root.clone())),
            tool(FsList(root.clone())),
            tool(FsEdit(root.clone())),
            tool(Search(root.clone())),
            tool(ApplyPatch(root)),
            tool(ShellRun(Arc::clone(&runner))),
            tool(PythonRun(runner)),
        ])
    }
}
