//! The name of this machine, which tells its checkouts and workers from those of others.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};
use windlass_store::LocalMachine;

use super::exit::CliError;
use crate::config::Inputs;

/// The file with the name, in the state directory.
const FILE: &str = "machine";
/// Maximum length of the readable part of the name.
const MAX_HOST_LEN: usize = 60;
/// Maximum size of a file with a name.
const MAX_FILE_BYTES: u64 = 1000;

/// Returns this machine, for the store at a URL. Its name is chosen once: the name of the host and eight random digits.
pub(super) fn local_machine(inputs: &Inputs, store_url: &str) -> Result<LocalMachine, CliError> {
    let state = inputs
        .state_dir()
        .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
    let name = name_in(&state).map_err(|error| {
        let file = state.join(FILE);
        CliError::usage(format!("{} cannot be used: {error}", file.display()))
    })?;
    let hash = Sha256::digest(store_url.as_bytes());
    let hash: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(LocalMachine {
        name,
        mirrors: Some(state.join("mirrors").join(hash)),
    })
}

fn name_in(state: &Path) -> std::io::Result<String> {
    let file = state.join(FILE);
    if let Some(name) = read(&file)? {
        return Ok(name);
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(state)?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let name = format!("{}-{}", host(), &id[..8]);
    // Complete or absent, and the first one wins.
    let temp = state.join(format!(".{FILE}-{id}"));
    let mut options = OpenOptions::new();
    let mut written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temp)?;
    written.write_all(format!("{name}\n").as_bytes())?;
    written.sync_all()?;
    let linked = std::fs::hard_link(&temp, &file);
    std::fs::remove_file(&temp)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(read(&file)?.unwrap_or(name)),
    }
}

fn read(file: &Path) -> std::io::Result<Option<String>> {
    match small_text(file) {
        Ok(text) if is_name(text.trim()) => Ok(Some(text.trim().to_owned())),
        Ok(_) => Err(std::io::Error::other(
            "it has no valid name of a machine: delete it",
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn small_text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(file)?
        .take(MAX_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    !text.is_empty() && text.len() <= 2 * MAX_HOST_LEN && text.chars().all(plain)
}

/// Returns the name of the host, with plain characters only.
fn host() -> String {
    let name = small_text(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default();
    let name: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
        .take(MAX_HOST_LEN)
        .collect();
    if name.is_empty() {
        "machine".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_chosen_once() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let name = name_in(&state).unwrap();
        assert!(is_name(&name), "{name}");
        assert_eq!(name_in(&state).unwrap(), name);
        let other = name_in(&dir.path().join("other")).unwrap();
        assert_ne!(other, name);
        std::fs::write(state.join(FILE), "a b\n").unwrap();
        assert!(name_in(&state).is_err(), "a damaged name is not used");
    }
}
