//! `windlass trace`: shows the trace of an attempt or a request.

mod view;

use clap::Args;
use windlass_core::{TraceNode, escape_line};

use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::TaskQueue;

/// Maximum number of traces in the list.
const MAX_LISTED: u32 = 20;

#[derive(Debug, Args)]
pub(super) struct Trace {
    /// Trace id (default: list the newest traces)
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Trace {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let store = TaskQueue::open(app).await?.store;
        let Some(id) = self.id else {
            let ids = store.traces(None, MAX_LISTED).await?;
            if self.json {
                app.console.pretty_json(&ids)?;
                return Ok(Exit::Done);
            }
            let mut cells = Vec::with_capacity(ids.len());
            for id in ids {
                let root = store.trace(id.clone()).await?;
                cells.push(row(&id, &root));
            }
            let heading = ["trace", "name", "agent", "duration", "status"];
            app.console.table(heading, &cells)?;
            return Ok(Exit::Done);
        };
        let root = store.trace(id).await?;
        if self.json {
            app.console.pretty_json(&root)?;
        } else {
            for line in view::lines(&root) {
                app.console.line(&line)?;
            }
        }
        Ok(Exit::Done)
    }
}

fn row(id: &str, root: &TraceNode) -> [String; 5] {
    let error = root.error.as_ref();
    let cells = [
        id.to_owned(),
        root.name.clone(),
        root.agent.clone().unwrap_or_default(),
        view::time(root.duration_ms),
        error.map_or("ok".to_owned(), |error| error.code.to_string()),
    ];
    cells.map(|cell| escape_line(&cell).into_owned())
}
