//! Checks a proof file offline: its signature, its content, and the commit if it is in this repository.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_core::escape_line;

use super::{Verify, exit, print_verdict};
use crate::cli::app::App;
use crate::cli::exit::{CliError, Exit};
use crate::cli::proof_lines::proof_lines;
use crate::git_history::GitHistory;
use crate::git_settings::GitSettings;
use crate::proof_file::{MAX_BYTES, ProofFile, SignatureCheck, verify as check_signature};
use crate::registry;

pub(super) async fn verify(app: &App<'_>, options: &Verify) -> Result<Exit, CliError> {
    let path = PathBuf::from(&options.what);
    let file = ProofFile::parse(&read(&path)?)
        .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
    let statement = &file.statement;
    let mut notes = Vec::new();
    let mut differences = statement.contradictions();
    check_signatures(app, options, &file, &mut notes, &mut differences).await?;
    check_commit(app, &file, &mut notes, &mut differences).await?;
    if options.json {
        app.console.pretty_json(&json!({
            "file": path,
            "valid": differences.is_empty(),
            "differences": differences,
            "notes": notes,
            "proof": statement.proof(),
        }))?;
        return Ok(exit(&differences));
    }
    let title = [("task", statement.title().to_owned())];
    let notes = notes.into_iter().map(|note| ("note", note));
    for (name, value) in title
        .into_iter()
        .chain(proof_lines(statement.proof()))
        .chain(notes)
    {
        let value = escape_line(&value);
        app.console.line(&format!("{name:>13}  {value}"))?;
    }
    print_verdict(app, &differences)?;
    Ok(exit(&differences))
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let error = |error: std::io::Error| {
        let path = path.display();
        CliError::usage(format!(
            "{path}: {error}; pass a task number or a proof file"
        ))
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(error)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(error)?;
    if bytes.len() as u64 > MAX_BYTES {
        let path = path.display();
        let limit = MAX_BYTES >> 20;
        return Err(CliError::usage(format!(
            "{path}: larger than {limit} MiB: not a proof file"
        )));
    }
    Ok(bytes)
}

/// At least one signature must be good and made with a known key, unless unsigned files are accepted.
async fn check_signatures(
    app: &App<'_>,
    options: &Verify,
    file: &ProofFile,
    notes: &mut Vec<String>,
    differences: &mut Vec<String>,
) -> Result<(), CliError> {
    let cwd = &app.inputs.cwd;
    let mut signatures = Vec::new();
    let mut bytes = Vec::new();
    if let Some(envelope) = &file.envelope {
        signatures = envelope.signatures().map_err(CliError::failed)?;
        bytes = envelope.signed_bytes().map_err(CliError::failed)?;
    }
    if signatures.is_empty() {
        let list = if options.allow_unsigned {
            notes
        } else {
            differences
        };
        list.push("the file has no signature".to_owned());
        return Ok(());
    }
    let allowed = match &options.allowed_signers {
        Some(file) => Some(file.clone()),
        None => GitSettings::read(cwd).await.allowed_signers(),
    };
    for signature in &signatures {
        let checked = check_signature(signature, bytes.clone(), allowed.as_deref(), cwd).await;
        match checked.map_err(CliError::failed)? {
            SignatureCheck::Trusted(person) => notes.push(format!("signed by {person}")),
            SignatureCheck::UnknownKey(key) => differences.push(format!(
                "signed with {key}, a key that is not in the list of allowed signers: name one with --allowed-signers"
            )),
            SignatureCheck::Bad(why) => differences.push(format!("bad signature: {why}")),
        }
    }
    Ok(())
}

/// Compares the tree of the commit, if this directory is in a repository that has it.
async fn check_commit(
    app: &App<'_>,
    file: &ProofFile,
    notes: &mut Vec<String>,
    differences: &mut Vec<String>,
) -> Result<(), CliError> {
    let proof = file.statement.proof();
    let sandbox = registry::sandbox(app.config()?).await;
    let sandbox = sandbox.map_err(CliError::failed)?;
    let is_hash = proof.commit.chars().all(|c| c.is_ascii_hexdigit());
    let tree = format!("{}^{{tree}}", proof.commit);
    let args = ["rev-parse", "--verify", "--quiet", &tree];
    let history = GitHistory::new(sandbox);
    let found = if is_hash {
        history.run(&app.inputs.cwd, &args).await
    } else {
        None
    };
    match found.as_deref().map(str::trim) {
        Some(tree) if tree == proof.tree => {
            notes.push("the commit in this repository has the tree that was tested".to_owned());
        }
        Some(tree) => differences.push(format!(
            "the commit's tree is {tree}, the proof has {}",
            proof.tree
        )),
        None => {
            notes.push("the commit is not in this repository: only the file was checked".to_owned())
        }
    }
    Ok(())
}
