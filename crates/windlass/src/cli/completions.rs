//! `windlass completions`: prints a completion script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::app::App;
use super::exit::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Shell to generate the script for
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut super::Cli::command(),
            "windlass",
            &mut script,
        );
        app.console.text(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Done)
    }
}
