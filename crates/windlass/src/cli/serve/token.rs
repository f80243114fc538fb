//! The server's token: made once, kept for the next start.

use std::path::PathBuf;

use windlass_core::SecretString;
use windlass_server::Token;

use super::super::exit::CliError;
use crate::config::Inputs;
use crate::config::private_dir::{PrivateDir, read_secret};

/// The file in the state folder.
const FILE: &str = "server-token";

/// A token, and where it is kept.
#[derive(Debug)]
pub(super) struct ServerToken {
    pub(super) token: SecretString,
    pub(super) file: PathBuf,
}

/// The token of the last start, or a new one.
pub(super) fn load_or_create(inputs: &Inputs, anew: bool) -> Result<ServerToken, CliError> {
    let folder = inputs.state_dir().ok_or_else(|| {
        CliError::usage("there is no place for the token: set HOME or XDG_STATE_HOME")
    })?;
    // Held until the file is there: of two servers that start at once, one makes it.
    let held = PrivateDir::lock(&folder)?;
    let file = folder.join(FILE);
    if !anew && let Some(text) = read_secret(&file)? {
        let text = text.trim();
        if text.len() < 32 || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(CliError::usage(format!(
                "{} holds no token: remove it, or start with --new-token",
                file.display()
            )));
        }
        let token = SecretString::from(text);
        return Ok(ServerToken { token, file });
    }
    let token = Token::generate()
        .map_err(|error| CliError::failed(format!("no token can be made: {error}")))?;
    held.replace(FILE, windlass_core::ExposeSecret::expose_secret(&token))?;
    Ok(ServerToken { token, file })
}
