//! A schema in a file, for agents that take it no other way.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use tempfile::TempPath;
use windlass_core::{Error, ErrorCode, Result};

/// How the file's name begins and ends.
const PREFIX: &str = "windlass-schema-";
const SUFFIX: &str = ".json";

/// Writes the schema into a file of its own in this folder. The file goes when what is returned is dropped.
///
/// The folder must not be one for temporary files: an agent has an empty one of its own there.
pub(crate) fn write(folder: &Path, schema: &Value) -> Result<TempPath> {
    let written = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempfile_in(folder)?;
        file.write_all(schema.to_string().as_bytes())?;
        Ok::<_, std::io::Error>(file.into_temp_path())
    };
    written().map_err(|error| {
        let place = folder.display();
        Error::agent(
            ErrorCode::BackendError,
            format!("no schema file in {place}: {error}"),
        )
    })
}
