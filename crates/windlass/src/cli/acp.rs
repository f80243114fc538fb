//! `windlass acp`: serves agents and tasks to an editor over the Agent Client Protocol.

mod host;
mod task_loop;

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use clap::Args;
use tokio_util::sync::CancellationToken;
use windlass_acp::{Mode, ServerSettings};

use super::app::App;
use super::console::Console;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use host::LocalHost;

/// The console of the sessions, which outlive the command's own.
static CONSOLE: OnceLock<Console> = OnceLock::new();

#[derive(Debug, Args)]
#[command(
    after_help = "An editor starts this program and speaks the protocol on its stdin and stdout; messages and the log \
    go to stderr. docs/editors.md has the settings of some editors."
)]
pub(super) struct Acp {
    /// Agent of new sessions (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Mode of new sessions: ask (read-only), edit, or task (plan, work in a clone, tests, proof)
    #[arg(long, value_name = "MODE", default_value = "edit", value_parser = mode)]
    mode: Mode,
}

impl Acp {
    /// Serves until the client closes stdin, or until it is interrupted.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let state = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        if std::io::stdin().is_terminal() {
            app.console
                .notice("an editor starts this command; it reads JSON-RPC messages, one per line");
        }
        let settings = ServerSettings {
            agent: self.agent,
            mode: self.mode,
            journal: state.join("acp"),
        };
        let mut interrupts = Interrupts::listen()?;
        let host = Arc::new(LocalHost::new(app, CONSOLE.get_or_init(|| *app.console)));
        let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
        let stop = CancellationToken::new();
        let served = windlass_acp::serve(host, settings, stdin, stdout, stop.clone());
        tokio::pin!(served);
        tokio::select! {
            () = &mut served => {}
            () = interrupts.next() => {
                stop.cancel();
                served.await;
            }
        }
        Ok(Exit::Done)
    }
}

/// Parses a mode.
fn mode(text: &str) -> Result<Mode, String> {
    Mode::from_id(text).ok_or_else(|| {
        let known = Mode::ALL.map(Mode::id).join(", ");
        format!("expected one of {known}")
    })
}
