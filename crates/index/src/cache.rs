//! The index cache file, so that a second start parses nothing.
//!
//! The file has a magic, then the encoded data of every file as blocks, then a head that lists them, then the length and
//! the hash of the head. An update reads only the head: it copies the blocks of the old file, appends new ones, and writes
//! a new head. The new file replaces the old one atomically. A file that is not exactly
//! as written (another version, truncated, corrupted) is treated as missing, and a corrupted block as well.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// Identifies the format. The number changes whenever the stored data of a file changes.
const MAGIC: &[u8; 16] = b"windlass-index 3";
/// Maximum size of a cache that is read.
const MAX_CACHE_BYTES: u64 = 2 << 30;
/// Length and hash of the head.
const TRAILER_BYTES: usize = 8 + 32;

/// Where a block is, and the hash of its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockRange {
    start: u64,
    len: u32,
    hash: [u8; 8],
}

impl BlockRange {
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.len)
    }

    /// Returns the block from the data of all blocks, or `None` if it is not as written.
    pub(crate) fn bytes<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.start).ok()?;
        let bytes = data.get(start..start.checked_add(self.len as usize)?)?;
        (block_hash(bytes) == self.hash).then_some(bytes)
    }
}

/// The blocks: those of the cache file, followed by new ones in memory.
#[derive(Debug, Default)]
pub(crate) struct BlockStore {
    file: Option<File>,
    stored: u64,
    fresh: Vec<u8>,
}

/// A cache that was opened.
#[derive(Debug)]
pub(crate) struct OpenCache<H> {
    pub(crate) head: H,
    pub(crate) blocks: BlockStore,
    /// When the cache was written, by the file system's clock.
    pub(crate) written: (i64, i64),
}

/// Opens a cache and reads its head. Returns `None` if there is no usable one.
pub(crate) fn open<H: DeserializeOwned>(path: &Path) -> Option<OpenCache<H>> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let (mut magic, mut trailer) = ([0; MAGIC.len()], [0; TRAILER_BYTES]);
    let trailer_at = metadata.len().checked_sub(TRAILER_BYTES as u64)?;
    file.read_exact_at(&mut magic, 0).ok()?;
    file.read_exact_at(&mut trailer, trailer_at).ok()?;
    let (len, hash) = trailer.split_first_chunk()?;
    let head_len = u64::from_le_bytes(*len);
    let head_at = trailer_at.checked_sub(head_len)?;
    let stored = head_at.checked_sub(MAGIC.len() as u64)?;
    if &magic != MAGIC || metadata.len() > MAX_CACHE_BYTES {
        return None;
    }
    let mut head = vec![0; usize::try_from(head_len).ok()?];
    file.read_exact_at(&mut head, head_at).ok()?;
    if head_hash(&head, stored) != hash {
        tracing::debug!(path = %path.display(), "the cache is invalid and is rebuilt");
        return None;
    }
    Some(OpenCache {
        head: postcard::from_bytes(&head).ok()?,
        blocks: BlockStore {
            file: Some(file),
            stored,
            fresh: Vec::new(),
        },
        written: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

impl BlockStore {
    /// Adds a block.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> BlockRange {
        let range = BlockRange {
            start: self.len(),
            len: bytes.len() as u32,
            hash: block_hash(bytes),
        };
        self.fresh.extend_from_slice(bytes);
        range
    }

    /// Returns the size of all blocks, with those that nothing refers to any more.
    pub(crate) fn len(&self) -> u64 {
        self.stored + self.fresh.len() as u64
    }

    /// Reads all blocks. Those that cannot be read are zeros, which no hash matches.
    pub(crate) fn read(&self) -> Vec<u8> {
        let stored = usize::try_from(self.stored).unwrap_or_default();
        let mut data = vec![0; stored];
        if let Some(file) = &self.file
            && let Err(error) = file.read_exact_at(&mut data, MAGIC.len() as u64)
        {
            tracing::debug!(%error, "the cache cannot be read");
        }
        data.extend_from_slice(&self.fresh);
        data
    }

    /// Reads one block. Returns `None` if it is not as written.
    pub(crate) fn read_one(&self, range: &BlockRange) -> Option<Vec<u8>> {
        let mut bytes = vec![0; range.len as usize];
        if let Some(at) = range.start.checked_sub(self.stored) {
            let at = usize::try_from(at).ok()?;
            let end = at.checked_add(bytes.len())?;
            bytes.copy_from_slice(self.fresh.get(at..end)?);
        } else {
            let at = range.start + MAGIC.len() as u64;
            self.file.as_ref()?.read_exact_at(&mut bytes, at).ok()?;
        }
        (block_hash(&bytes) == range.hash).then_some(bytes)
    }

    /// Writes the cache atomically, readable by its owner only, and uses it from now on. Returns the time of the write
    /// by the file system's clock.
    pub(crate) fn write(&mut self, path: &Path, head: &impl Serialize) -> io::Result<(i64, i64)> {
        let head = postcard::to_stdvec(head).map_err(io::Error::other)?;
        let dir = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir)?;
        let mut new = tempfile::Builder::new()
            .prefix(".index-")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(dir)?;
        new.write_all(MAGIC)?;
        if let Some(mut old) = self.file.as_ref() {
            old.seek(SeekFrom::Start(MAGIC.len() as u64))?;
            // The kernel copies from file to file.
            let copied = io::copy(&mut old.take(self.stored), new.as_file_mut())?;
            if copied != self.stored {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        new.write_all(&self.fresh)?;
        new.write_all(&head)?;
        new.write_all(&(head.len() as u64).to_le_bytes())?;
        new.write_all(&head_hash(&head, self.len()))?;
        let file = new.persist(path)?;
        let metadata = file.metadata()?;
        *self = Self {
            file: Some(file),
            stored: self.len(),
            fresh: Vec::new(),
        };
        Ok((metadata.mtime(), metadata.mtime_nsec()))
    }
}

/// Returns the hash of a head and the size of the blocks before it.
fn head_hash(head: &[u8], stored: u64) -> [u8; 32] {
    let hash = Sha256::new().chain_update(stored.to_le_bytes());
    hash.chain_update(head).finalize().into()
}

fn block_hash(bytes: &[u8]) -> [u8; 8] {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    hash.first_chunk().copied().unwrap_or_default()
}
