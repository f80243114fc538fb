//! The index cache file, so that a second start parses nothing.
//!
//! The file has a header of fixed length, the records, and their bags. A file that is not exactly as written
//! (another version, truncated, corrupted) is treated as missing.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::history::History;
use crate::record::FileRecord;

/// Identifies the format. The number changes whenever the stored data of a file changes.
const MAGIC: &[u8; 16] = b"windlass-index 1";
/// Maximum size of a cache that is read.
const MAX_CACHE_BYTES: u64 = 2 << 30;
/// Magic and hash.
const HEADER_BYTES: usize = 16 + 32;

/// The file content without the bags.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Body {
    records: Vec<FileRecord>,
    /// The size of each record's bags.
    lengths: Vec<u32>,
    history: History,
}

/// A cache that was read.
#[derive(Debug, Default)]
pub(crate) struct Cached {
    pub(crate) records: Vec<FileRecord>,
    pub(crate) history: History,
    /// When the cache was written, by the file system's clock.
    pub(crate) written: (i64, i64),
}

/// Reads a cache. Returns `None` if there is no usable one.
pub(crate) fn read(path: &Path) -> Option<Cached> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(MAX_CACHE_BYTES)).ok()?);
    file.take(MAX_CACHE_BYTES).read_to_end(&mut bytes).ok()?;
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let (magic, hash) = header.split_at_checked(MAGIC.len())?;
    if magic != MAGIC || hash != Sha256::digest(rest).as_slice() {
        tracing::debug!(path = %path.display(), "the cache is invalid and is rebuilt");
        return None;
    }
    let (mut body, mut bags): (Body, &[u8]) = postcard::take_from_bytes(rest).ok()?;
    if body.lengths.len() != body.records.len() {
        return None;
    }
    for (record, length) in body.records.iter_mut().zip(&body.lengths) {
        let (own, after) = bags.split_at_checked(*length as usize)?;
        record.bags = own.to_vec();
        bags = after;
    }
    Some(Cached {
        records: body.records,
        history: body.history,
        written: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

/// Writes the cache atomically, readable by its owner only. Returns the time of the write by the file
/// system's clock.
pub(crate) fn write(
    path: &Path,
    records: &[FileRecord],
    history: &History,
) -> io::Result<(i64, i64)> {
    #[derive(Serialize)]
    struct Borrowed<'a> {
        records: &'a [FileRecord],
        lengths: Vec<u32>,
        history: &'a History,
    }
    let lengths = records.iter().map(|record| record.bags.len() as u32);
    let body = Borrowed {
        records,
        lengths: lengths.collect(),
        history,
    };
    let body = postcard::to_stdvec(&body).map_err(io::Error::other)?;
    let mut hash = Sha256::new().chain_update(&body);
    for record in records {
        hash.update(&record.bags);
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let mut file = tempfile::Builder::new()
        .prefix(".index-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(dir)?;
    {
        let mut out = io::BufWriter::with_capacity(1 << 20, file.as_file_mut());
        out.write_all(MAGIC)?;
        out.write_all(&hash.finalize())?;
        out.write_all(&body)?;
        for record in records {
            out.write_all(&record.bags)?;
        }
        out.flush()?;
    }
    let metadata = file.persist(path)?.metadata()?;
    Ok((metadata.mtime(), metadata.mtime_nsec()))
}
