//! The head of an index: what an update needs. The cache stores it apart from the data of the files.

use serde::{Deserialize, Serialize};

use crate::cache::{BlockRange, BlockStore};
use crate::record::FileEntry;

/// Size of the unused blocks that is always allowed.
const MIN_UNUSED_BYTES: u64 = 1 << 16;

/// What an update needs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct IndexHead {
    /// Sorted by path.
    pub(crate) files: Vec<FileEntry>,
    /// The newest known commit.
    pub(crate) commit: String,
    /// Number of known commits.
    pub(crate) commits: usize,
    /// The encoded history.
    pub(crate) history: BlockRange,
}

impl IndexHead {
    /// Leaves out the blocks that nothing refers to any more once they are more than half of all.
    pub(crate) fn remove_unused(&mut self, blocks: &mut BlockStore) {
        let ranges = self.files.iter_mut().map(|entry| &mut entry.block);
        let ranges: Vec<&mut BlockRange> = ranges.chain([&mut self.history]).collect();
        let used: u64 = ranges.iter().map(|range| range.len()).sum();
        if blocks.len() <= 2 * used + MIN_UNUSED_BYTES {
            return;
        }
        let (data, mut kept) = (blocks.read(), BlockStore::default());
        for range in ranges {
            // The range of a corrupted block keeps its hash, which no other bytes have. Its file is read again.
            if let Some(bytes) = range.bytes(&data) {
                *range = kept.push(bytes);
            }
        }
        *blocks = kept;
    }
}
