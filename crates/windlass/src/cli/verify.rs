//! `windlass verify`: verifies a task's proof in a fresh checkout.

use clap::Args;
use serde_json::json;
use windlass_tasks::TaskId;

use super::app::App;
use super::console::{BAD, GOOD};
use super::exit::{CliError, Exit};
use super::queue::TaskQueue;
use super::task_runtime::{TaskRuntime, test_settings};

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Task number
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = TaskQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let Some(proof) = queue.store.proof(self.id).await? else {
            let why = if task.unverified {
                "it was completed without tests".to_owned()
            } else {
                format!("it is {}", task.status)
            };
            return Err(CliError::usage(format!(
                "task {} has no proof: {why}",
                task.id
            )));
        };
        let root = queue.store.project(task.project_id).await?.root;
        let task_runtime =
            TaskRuntime::for_store(app, &queue.url, test_settings(&queue.config)).await?;
        let verified = task_runtime
            .clones
            .verify(&root, &proof, &task_runtime.tests)
            .await;
        let verified = verified.map_err(windlass_core::Error::from)?;
        if self.json {
            app.console.pretty_json(&json!({
                "task": task.id,
                "valid": verified.is_valid(),
                // The old name, kept for one release.
                "holds": verified.is_valid(),
                "differences": verified.differences,
                "result": verified.result,
                "proof": proof,
            }))?;
        } else {
            for (name, value) in super::task::proof_lines(&proof) {
                let value = windlass_core::escape_line(&value);
                app.console.line(&format!("{name:>12}  {value}"))?;
            }
            for difference in &verified.differences {
                let difference = windlass_core::escape_line(difference);
                app.console
                    .line(&format!("{BAD}differs{BAD:#}  {difference}"))?;
            }
            if verified.is_valid() {
                app.console
                    .line(&format!("{GOOD}the proof is valid{GOOD:#}"))?;
            }
        }
        Ok(if verified.is_valid() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}
