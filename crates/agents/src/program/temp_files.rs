//! Files passed to an agent while it runs: data that it accepts in no other way, or that must not be visible in
//! an argument.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use tempfile::TempPath;
use windlass_core::{Error, ErrorCode, Result};

/// Prefix of the names of the files with a JSON Schema.
pub(crate) const SCHEMA_PREFIX: &str = "windlass-schema-";
/// Prefix of the names of the files with MCP servers.
pub(crate) const SERVERS_PREFIX: &str = "windlass-servers-";

/// Suffix of the files' names.
const SUFFIX: &str = ".json";

/// Writes a value into a new file below `state`, readable by its owner only. The file is deleted when the
/// returned path is dropped.
///
/// The directory must not be one for temporary files, because an agent sees an empty one there.
pub(crate) fn write(state: &Path, prefix: &str, value: &Value) -> Result<TempPath> {
    let dir = state.join("tmp");
    let write = || {
        std::fs::create_dir_all(&dir)?;
        let mut file = tempfile::Builder::new()
            .prefix(prefix)
            .suffix(SUFFIX)
            .tempfile_in(&dir)?;
        file.write_all(value.to_string().as_bytes())?;
        Ok::<_, std::io::Error>(file.into_temp_path())
    };
    write().map_err(|error| {
        let shown = dir.display();
        Error::agent(
            ErrorCode::BackendError,
            format!("cannot write a file in {shown}: {error}"),
        )
    })
}
