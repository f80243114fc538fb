//! The index data of one file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bag::{Bag, BagBuilder};
use crate::cache::BlockRange;
use crate::languages::Language;
use crate::symbols::{Symbol, SymbolParser};
use crate::words::WordScanner;

/// Number of lines per chunk of a file. A long file is about many things; a chunk is about one.
pub(crate) const CHUNK_LINES: usize = 60;
/// Files with longer lines on average are generated: only their path is indexed.
const LINE_BYTES: usize = 500;
/// Number of bytes checked to detect binary files.
const HEAD_BYTES: usize = 8_000;

/// Metadata that shows whether a file is probably unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns when the file's content or name last changed, by the file system's clock.
    pub(crate) fn changed(&self) -> (i64, i64) {
        self.changed
    }
}

/// Hash of a file's content.
pub(crate) type ContentHash = [u8; 16];

/// What reads the files of one thread.
pub(crate) struct FileParser {
    symbols: SymbolParser,
    words: WordScanner,
}

impl FileParser {
    pub(crate) fn new() -> Self {
        Self {
            symbols: SymbolParser::new(),
            words: WordScanner::new(),
        }
    }
}

/// What an update needs to know about a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// Relative to the root, with slashes.
    pub(crate) path: String,
    pub(crate) stamp: FileStamp,
    pub(crate) content: ContentHash,
    /// Number of symbols.
    pub(crate) symbols: u32,
    /// The encoded record.
    pub(crate) block: BlockRange,
}

/// The index data of one file.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileRecord {
    /// Relative to the root, with slashes.
    pub(crate) path: String,
    pub(crate) symbols: Vec<Symbol>,
    /// Packed bags: the parts of the defined names, then each chunk of the text.
    bags: Vec<u8>,
}

impl FileRecord {
    /// Creates the record of a file from its text.
    pub(crate) fn read(path: String, text: &[u8], parser: &mut FileParser) -> Self {
        let mut record = Self {
            path,
            ..Self::default()
        };
        if !is_handwritten_text(text) {
            return record;
        }
        let mut bag = BagBuilder::default();
        if let Some(language) = Language::detect(&record.path, text) {
            record.symbols = parser.symbols.symbols(language, text);
        }
        for symbol in &record.symbols {
            parser
                .words
                .scan(symbol.name.as_bytes(), |word| bag.add(word));
        }
        bag.pack(&mut record.bags);
        for chunk in chunks(text) {
            parser.words.scan(chunk, |word| bag.add(word));
            bag.pack(&mut record.bags);
        }
        record
    }

    /// Encodes the record without its path.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = postcard::to_stdvec(&self.symbols).unwrap_or_default();
        bytes.extend_from_slice(&self.bags);
        bytes
    }

    /// Decodes the record of the file with this path.
    pub(crate) fn decode(path: String, bytes: &[u8]) -> Option<Self> {
        let (symbols, bags) = postcard::take_from_bytes(bytes).ok()?;
        Some(Self {
            path,
            symbols,
            bags: bags.to_vec(),
        })
    }

    /// Returns the path of the file's directory.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the parts of the names that the file defines.
    pub(crate) fn names(&self) -> Option<Bag<'_>> {
        Bag::all(&self.bags).next()
    }

    /// Returns the words of each chunk of the text, in order.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Bag<'_>> {
        Bag::all(&self.bags).skip(1)
    }
}

/// Returns the hash of a content.
pub(crate) fn content_hash(text: &[u8]) -> ContentHash {
    let hash: [u8; 32] = Sha256::digest(text).into();
    let mut content = ContentHash::default();
    content.copy_from_slice(&hash[..16]);
    content
}

/// Returns `true` if this is text in lines of usual length, not binary or generated data.
fn is_handwritten_text(text: &[u8]) -> bool {
    let head = &text[..text.len().min(HEAD_BYTES)];
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    !head.contains(&0) && text.len() / lines <= LINE_BYTES
}

/// Splits the text into chunks of [`CHUNK_LINES`] lines.
pub(crate) fn chunks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let end = ends.map(|(at, _)| at + 1).nth(CHUNK_LINES - 1);
        let (chunk, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(chunk)
    })
}
