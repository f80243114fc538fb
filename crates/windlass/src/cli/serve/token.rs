//! The server's token: generated once and stored for the next start.

use std::path::PathBuf;

use windlass_core::SecretString;
use windlass_server::Token;

use super::super::exit::CliError;
use crate::config::Inputs;
use crate::config::private_dir::{PrivateDir, read_secret};

/// The file in the state directory.
const FILE: &str = "server-token";

/// A token, and the file that stores it.
#[derive(Debug)]
pub(super) struct ServerToken {
    pub(super) token: SecretString,
    pub(super) file: PathBuf,
}

/// Returns the token of the last start, if there is one that can be read.
pub(in crate::cli) fn stored(inputs: &Inputs) -> Option<SecretString> {
    let token = read_secret(&inputs.state_dir()?.join(FILE)).ok()??;
    Some(SecretString::from(token.trim()))
}

/// Loads the token of the last start, or generates a new one.
pub(super) fn load_or_create(inputs: &Inputs, force_new: bool) -> Result<ServerToken, CliError> {
    let state = inputs
        .state_dir()
        .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
    // Locked until the file exists, so that only one of two servers that start concurrently creates it.
    let dir = PrivateDir::lock(&state)?;
    let file = state.join(FILE);
    if !force_new && let Some(text) = read_secret(&file)? {
        let text = text.trim();
        if text.len() < 32 || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(CliError::usage(format!(
                "{} does not contain a valid token: delete it, or start with --new-token",
                file.display()
            )));
        }
        let token = SecretString::from(text);
        return Ok(ServerToken { token, file });
    }
    let token = Token::generate()
        .map_err(|error| CliError::failed(format!("cannot generate a token: {error}")))?;
    dir.replace(FILE, windlass_core::ExposeSecret::expose_secret(&token))?;
    Ok(ServerToken { token, file })
}
