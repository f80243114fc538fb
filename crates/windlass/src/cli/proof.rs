//! `windlass proof`: prints a task's proof as text, JSON or a signed statement.

use std::path::PathBuf;

use clap::Args;
use windlass_core::escape_line;
use windlass_tasks::{Proof, Task, TaskId};

use super::app::App;
use super::exit::{CliError, Exit};
use super::proof_lines::proof_lines;
use super::queue::ProjectQueue;
use crate::git_settings::GitSettings;
use crate::proof_file::{DsseEnvelope, Statement, default_key, sign};

#[derive(Debug, Args)]
pub(super) struct Proofs {
    /// Task number
    id: TaskId,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["in_toto", "sign"])]
    json: bool,
    /// Print an in-toto statement about the commit, with a test-result predicate
    #[arg(long)]
    in_toto: bool,
    /// Print the statement signed with an ssh key: git's signing key, or the first key in ~/.ssh
    #[arg(long)]
    sign: bool,
    /// Sign with this ssh key; a public key selects a key of the ssh agent
    #[arg(long, value_name = "FILE", requires = "sign")]
    key: Option<PathBuf>,
}

impl Proofs {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let proof = stored_proof(&queue, &task).await?;
        if self.json {
            app.console.pretty_json(&proof)?;
        } else if self.sign {
            let statement = Statement::new(task.id, &task.title, &proof);
            let envelope = self.signed(app, &statement).await?;
            app.console.pretty_json(&envelope)?;
        } else if self.in_toto {
            let statement = Statement::new(task.id, &task.title, &proof);
            app.console.pretty_json(&statement)?;
        } else {
            for (name, value) in proof_lines(&proof) {
                let value = escape_line(&value);
                app.console.line(&format!("{name:>13}  {value}"))?;
            }
        }
        Ok(Exit::Done)
    }

    async fn signed(&self, app: &App<'_>, statement: &Statement) -> Result<DsseEnvelope, CliError> {
        let cwd = &app.inputs.cwd;
        let key = match &self.key {
            Some(key) => Some(key.clone()),
            None => GitSettings::read(cwd).await.signing_key(),
        };
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let key = key.or_else(|| default_key(&home?)).ok_or_else(|| {
            CliError::usage("no ssh key: name one with --key, or create one with ssh-keygen")
        })?;
        let mut envelope = DsseEnvelope::new(statement).map_err(CliError::failed)?;
        let bytes = envelope.signed_bytes().map_err(CliError::failed)?;
        let signed = sign(&key, bytes, cwd).await;
        let (fingerprint, signature) = signed.map_err(CliError::failed)?;
        envelope.add_signature(fingerprint, &signature);
        Ok(envelope)
    }
}

/// Returns a task's proof, or an error that says why it has none.
pub(super) async fn stored_proof(queue: &ProjectQueue, task: &Task) -> Result<Proof, CliError> {
    let proof = queue.store.proof(task.id).await?;
    proof.ok_or_else(|| {
        let why = if task.unverified {
            "it was completed without tests".to_owned()
        } else {
            format!("it is {}", task.status)
        };
        CliError::usage(format!("task {} has no proof: {why}", task.id))
    })
}
