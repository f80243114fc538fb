//! Signatures with ssh keys, made and checked by `ssh-keygen`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use windlass_sandbox::Output;

use crate::user_program;

/// Separates these signatures from those for other purposes, such as commits.
const NAMESPACE: &str = "windlass-proof";

/// Names of the user's keys, in order of preference.
const KEY_NAMES: &[&str] = &["id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk"];

/// The result of checking one signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignatureCheck {
    /// The signature is good, and the key belongs to this person.
    Trusted(String),
    /// The signature is good, but no list names the owner of the key.
    UnknownKey(String),
    /// The signature is not good.
    Bad(String),
}

/// Returns the first of the user's ssh keys.
pub(crate) fn default_key(home: &Path) -> Option<PathBuf> {
    let keys = KEY_NAMES.iter().map(|name| home.join(".ssh").join(name));
    keys.into_iter().find(|key| key.is_file())
}

/// Signs bytes with this key, and returns the key's fingerprint and the signature.
pub(crate) async fn sign(
    key: &Path,
    bytes: Vec<u8>,
    cwd: &Path,
) -> Result<(String, Vec<u8>), String> {
    let args = ["-Y", "sign", "-q", "-n", NAMESPACE, "-f"];
    let output = keygen(&args, &[key.as_os_str().to_owned()], cwd, bytes).await?;
    if !output.exit.success() {
        return Err(format!(
            "ssh-keygen cannot sign with {}: {}; if the key has a passphrase, run ssh-add first",
            key.display(),
            last_line(&output)
        ));
    }
    let signature = output.stdout.bytes().to_vec();
    let print = keygen(
        &["-l", "-f"],
        &[key.as_os_str().to_owned()],
        cwd,
        Vec::new(),
    )
    .await?;
    let fingerprint = print.stdout.text();
    let fingerprint = fingerprint.split_whitespace().nth(1).unwrap_or_default();
    Ok((fingerprint.to_owned(), signature))
}

/// Checks a signature, with the keys of people in `allowed` if there is such a file.
pub(crate) async fn verify(
    signature: &[u8],
    bytes: Vec<u8>,
    allowed: Option<&Path>,
    cwd: &Path,
) -> Result<SignatureCheck, String> {
    let mut file = NamedTempFile::new().map_err(|error| error.to_string())?;
    file.write_all(signature)
        .map_err(|error| error.to_string())?;
    let path = file.path().as_os_str().to_owned();
    let args = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s"];
    let output = keygen(&args, std::slice::from_ref(&path), cwd, bytes.clone()).await?;
    if !output.exit.success() {
        return Ok(SignatureCheck::Bad(last_line(&output)));
    }
    let key = output.stdout.text();
    let key = key.split_whitespace().last().unwrap_or_default().to_owned();
    let Some(allowed) = allowed else {
        return Ok(SignatureCheck::UnknownKey(key));
    };
    let Some(person) = owner(allowed, &path, cwd).await? else {
        return Ok(SignatureCheck::UnknownKey(key));
    };
    let args = ["-Y", "verify", "-n", NAMESPACE, "-f"];
    let more = [
        allowed.as_os_str().to_owned(),
        "-I".into(),
        person.clone().into(),
        "-s".into(),
        path,
    ];
    let output = keygen(&args, &more, cwd, bytes).await?;
    Ok(if output.exit.success() {
        SignatureCheck::Trusted(person)
    } else {
        SignatureCheck::UnknownKey(key)
    })
}

/// Returns the owner of the key that made a signature, by the list of people's keys.
async fn owner(allowed: &Path, signature: &OsString, cwd: &Path) -> Result<Option<String>, String> {
    let args = ["-Y", "find-principals", "-f"];
    let more = [
        allowed.as_os_str().to_owned(),
        "-s".into(),
        signature.clone(),
    ];
    let output = keygen(&args, &more, cwd, Vec::new()).await?;
    let text = output.stdout.text();
    let person = text.lines().next().filter(|_| output.exit.success());
    Ok(person.map(str::to_owned))
}

async fn keygen(
    args: &[&str],
    more: &[OsString],
    cwd: &Path,
    input: Vec<u8>,
) -> Result<Output, String> {
    let args: Vec<OsString> = args
        .iter()
        .map(OsString::from)
        .chain(more.iter().cloned())
        .collect();
    let output = user_program::run("ssh-keygen", &args, cwd, input).await;
    output.map_err(|error| format!("ssh-keygen cannot be run: {error}"))
}

/// Returns the last line of a program's error output.
fn last_line(output: &Output) -> String {
    let text = format!("{}\n{}", output.stdout.text(), output.stderr.text());
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    windlass_core::escape_line(line.unwrap_or("no message")).into_owned()
}
