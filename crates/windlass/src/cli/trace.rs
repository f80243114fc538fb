//! `windlass trace`: what a request or an attempt went through.

use clap::Args;
use windlass_core::{TraceNode, visible_line};

use super::app::App;
use super::console::{BAD, QUIET};
use super::exit::{Exit, Failure};
use super::queue::Queue;

#[derive(Debug, Args)]
pub(super) struct Trace {
    /// The trace's id; without one the newest are listed
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Trace {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        let store = Queue::open(app).await?.store;
        let Some(id) = self.id else {
            let ids = store.traces(None, 50).await?;
            if self.json {
                app.console.pretty_json(&ids)?;
            } else {
                for id in ids {
                    app.console.line(&visible_line(&id))?;
                }
            }
            return Ok(Exit::Done);
        };
        let root = store.trace(id).await?;
        if self.json {
            app.console.pretty_json(&root)?;
        } else {
            show(app, &root, 0)?;
        }
        Ok(Exit::Done)
    }
}

fn show(app: &App<'_>, node: &TraceNode, depth: usize) -> Result<(), Failure> {
    let mut about = vec![format!("{} ms", node.duration_ms)];
    about.extend(node.agent.clone());
    about.extend(node.exit_code.map(|code| format!("exit {code}")));
    about.extend(
        node.usage
            .as_ref()
            .map(|usage| format!("{} + {} tokens", usage.input_tokens, usage.output_tokens)),
    );
    let indent = "  ".repeat(depth);
    let (name, about) = (visible_line(&node.name), about.join(", "));
    let about = visible_line(&about);
    app.console
        .line(&format!("{indent}{name}  {QUIET}{about}{QUIET:#}"))?;
    if let Some(error) = &node.error {
        let message = visible_line(&error.message);
        app.console
            .line(&format!("{indent}  {BAD}{}{BAD:#} {message}", error.code))?;
    }
    for child in &node.children {
        show(app, child, depth + 1)?;
    }
    Ok(())
}
