//! `windlass verify`: verifies a task's proof in a fresh checkout, or a proof file offline.

mod file;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use windlass_core::escape_line;
use windlass_tasks::TaskId;

use super::app::App;
use super::console::{BAD, GOOD};
use super::exit::{CliError, Exit};
use super::proof::stored_proof;
use super::proof_lines::proof_lines;
use super::queue::ProjectQueue;
use super::remote;
use super::task_runtime::{TaskRuntime, test_settings};

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Task number, to run its tests again; or a file from `windlass proof --sign`, to check it offline
    #[arg(value_name = "TASK|FILE")]
    what: String,
    /// List of people and their ssh keys, as in ssh-keygen(1); default: git's gpg.ssh.allowedSignersFile
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Accept a file without a signature
    #[arg(long)]
    allow_unsigned: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.what.parse::<TaskId>() {
            Ok(id) => self.run_tests(app, id).await,
            Err(_) => file::verify(app, &self).await,
        }
    }

    /// Runs the tests of a proof again, in a fresh checkout.
    async fn run_tests(&self, app: &App<'_>, id: TaskId) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(id).await?;
        let proof = stored_proof(&queue, &task).await?;
        let root = remote::root_of(&*queue.store, &task).await?;
        let task_runtime =
            TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        let verified = task_runtime
            .clones
            .verify(&root, &proof, &task_runtime.tests)
            .await;
        let verified = verified.map_err(windlass_core::Error::from)?;
        if self.json {
            app.console.pretty_json(&json!({
                "task": task.id,
                "valid": verified.is_valid(),
                // The old name, for one more release.
                "holds": verified.is_valid(),
                "differences": verified.differences,
                "result": verified.result,
                "proof": proof,
            }))?;
        } else {
            for (name, value) in proof_lines(&proof) {
                let value = escape_line(&value);
                app.console.line(&format!("{name:>13}  {value}"))?;
            }
            print_verdict(app, &verified.differences)?;
        }
        Ok(exit(&verified.differences))
    }
}

/// Prints the differences from a proof, or that it is valid.
fn print_verdict(app: &App<'_>, differences: &[String]) -> Result<(), CliError> {
    for difference in differences {
        let difference = escape_line(difference);
        app.console
            .line(&format!("{BAD}differs{BAD:#}  {difference}"))?;
    }
    if differences.is_empty() {
        app.console
            .line(&format!("{GOOD}the proof is valid{GOOD:#}"))?;
    }
    Ok(())
}

fn exit(differences: &[String]) -> Exit {
    if differences.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    }
}
