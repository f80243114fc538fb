//! The toolbox: every tool, bound to a folder of this machine.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Error, Result};
use windlass_core::{Tool, Toolbox};
use windlass_sandbox::{Mechanism, Sandbox};
use windlass_workspace::paths::Root;

use crate::files::{FsEdit, FsList, FsRead, FsWrite};
use crate::handler::tool;
use crate::patch::ApplyPatch;
use crate::run::{CommandLimits, CommandRunner, PythonRun, ShellRun};
use crate::search::Search;

/// Gives out tools that work on this machine: files directly, commands behind the sandbox.
#[derive(Debug, Clone)]
pub struct LocalTools {
    sandbox: Result<Sandbox, String>,
    limits: CommandLimits,
    allowed: Vec<String>,
}

impl LocalTools {
    /// Commands run behind this sandbox. One without walls runs nothing, see
    /// [`unconfined`](Self::unconfined).
    pub fn new(sandbox: Sandbox) -> Self {
        let sandbox = match sandbox.mechanism() {
            Mechanism::None => Err("no isolation: the sandbox was turned off".to_owned()),
            _ => Ok(sandbox),
        };
        Self::with_sandbox(sandbox)
    }

    /// Nothing is run at all, and this is why. Files can be read and written.
    pub fn without_isolation(reason: impl Into<String>) -> Self {
        Self::with_sandbox(Err(reason.into()))
    }

    /// Commands run even if the sandbox has no walls. For those who were told what it means.
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

    /// How much a command may use up.
    pub fn limits(mut self, limits: CommandLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Commands that `shell_run` takes besides [`COMMANDS`](crate::COMMANDS).
    pub fn allow_commands<N: Into<String>>(
        mut self,
        commands: impl IntoIterator<Item = N>,
    ) -> Self {
        self.allowed.extend(commands.into_iter().map(Into::into));
        self
    }
}

impl Toolbox for LocalTools {
    fn tools(&self, root: &Path) -> Result<Vec<Arc<dyn Tool>>> {
        let root =
            Root::open(root).map_err(|error| Error::InvalidInput(format!("workspace: {error}")))?;
        let runner = Arc::new(CommandRunner::new(
            self.sandbox.clone(),
            root.path(),
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
