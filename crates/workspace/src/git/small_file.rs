//! Reads git's small files.

use std::io::Read;
use std::path::Path;

/// Maximum size of a file that is read.
const MAX_SMALL_FILE_BYTES: u64 = 64 << 10;

/// Returns the text of a small regular file.
pub(crate) fn small_file(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_SMALL_FILE_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}
