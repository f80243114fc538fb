//! `windlass model`: a model that says what a script says.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use windlass_gateway::Script;

use super::app::App;
use super::console::{BAD, QUIET};
use super::exit::{Exit, Failure};
use super::interrupt::Interrupts;

#[derive(Debug, Args)]
pub(super) struct Model {
    /// The script; docs/testing-with-scripts.md shows the format
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Where to listen, on loopback; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print what came as JSON at the end
    #[arg(long)]
    json: bool,
}

impl Model {
    /// Serves until it is interrupted; a request that the script did not expect makes it fail.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        let script =
            Script::read(&self.script).map_err(|error| Failure::usage(error.to_string()))?;
        let mut interrupts = Interrupts::listen()?;
        let console = *app.console;
        let ready = |address: SocketAddr| {
            console.progress(
                QUIET,
                &format!("listening on http://{address}; interrupt to end"),
            );
        };
        let watch = move |exchange: &windlass_gateway::Exchange| {
            let style = if exchange.is_unexpected() { BAD } else { QUIET };
            console.progress(style, &exchange.to_string());
        };
        let report = windlass_gateway::serve(script, self.listen, interrupts.next(), ready, watch)
            .await
            .map_err(|error| Failure::usage(error.to_string()))?;
        if self.json {
            app.console.pretty_json(&report)?;
        } else {
            app.console
                .line(&windlass_core::visible(&report.to_string()))?;
        }
        Ok(if report.is_clean() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}
