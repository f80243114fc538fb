//! Files that an agent is handed for the time it runs: what it takes no other way, or what no argument may show.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use tempfile::TempPath;
use windlass_core::{Error, ErrorCode, Result};

/// How the names of the files begin.
pub(crate) const SCHEMA_PREFIX: &str = "windlass-schema-";
pub(crate) const SERVERS_PREFIX: &str = "windlass-servers-";

/// How they end.
const SUFFIX: &str = ".json";

/// Writes a value into a file of its own below `state`, for its owner only. The file goes when what is returned is
/// dropped.
///
/// The folder must not be one for temporary files: an agent has an empty one of its own there.
pub(crate) fn write(state: &Path, prefix: &str, value: &Value) -> Result<TempPath> {
    let folder = state.join("papers");
    let written = || {
        std::fs::create_dir_all(&folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(prefix)
            .suffix(SUFFIX)
            .tempfile_in(&folder)?;
        file.write_all(value.to_string().as_bytes())?;
        Ok::<_, std::io::Error>(file.into_temp_path())
    };
    written().map_err(|error| {
        let place = folder.display();
        Error::agent(
            ErrorCode::BackendError,
            format!("no file can be written in {place}: {error}"),
        )
    })
}
