//! Packed bags of words with their counts.
//!
//! A bag is `count`, `total`, then the words in ascending order, then their counts. A reader searches for a
//! few words among many and allocates nothing.

use std::collections::HashMap;

use crate::words::WordHash;

/// Size of the header before the words.
const HEADER_BYTES: usize = 8;

/// Counts words.
#[derive(Debug, Default)]
pub(crate) struct BagBuilder {
    counts: HashMap<WordHash, u32, IdentityBuildHasher>,
    total: u32,
}

impl BagBuilder {
    pub(crate) fn add(&mut self, word: WordHash) {
        *self.counts.entry(word).or_default() += 1;
        self.total += 1;
    }

    /// Appends the packed bag to `into`, and resets the builder.
    pub(crate) fn pack(&mut self, into: &mut Vec<u8>) {
        let mut counts: Vec<(WordHash, u32)> = self.counts.drain().collect();
        counts.sort_unstable();
        into.extend((counts.len() as u32).to_le_bytes());
        into.extend(self.total.to_le_bytes());
        into.extend(counts.iter().flat_map(|(word, _)| word.to_le_bytes()));
        into.extend(counts.iter().map(|(_, count)| (*count).min(255) as u8));
        self.total = 0;
    }
}

/// A packed bag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bag<'a> {
    words: &'a [[u8; 4]],
    counts: &'a [u8],
    /// Total number of words, with repetitions.
    pub(crate) total: u32,
}

impl<'a> Bag<'a> {
    /// Returns the first bag of the bytes and the rest. Returns `None` at the end, or if the bytes are not a
    /// bag.
    pub(crate) fn first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let (count, total) = header.split_at_checked(4)?;
        let count = u32::from_le_bytes(count.try_into().ok()?) as usize;
        let (words, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (counts, rest) = rest.split_at_checked(count)?;
        let bag = Self {
            words: words.as_chunks().0,
            counts,
            total: u32::from_le_bytes(total.try_into().ok()?),
        };
        Some((bag, rest))
    }

    /// Returns all bags of the bytes.
    pub(crate) fn all(bytes: &'a [u8]) -> impl Iterator<Item = Self> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            let (bag, after) = Self::first(rest)?;
            rest = after;
            Some(bag)
        })
    }

    /// Calls `each` with the index and the count of each wanted word that is in the bag. `wanted` must be in
    /// ascending order.
    pub(crate) fn find(&self, wanted: &[WordHash], mut each: impl FnMut(usize, u8)) {
        let mut from = 0;
        for (index, word) in wanted.iter().enumerate() {
            let rest = &self.words[from..];
            from += rest.partition_point(|bytes| u32::from_le_bytes(*bytes) < *word);
            match self.words.get(from) {
                None => return,
                Some(found) if u32::from_le_bytes(*found) == *word => {
                    each(index, self.counts[from])
                }
                Some(_) => {}
            }
        }
    }
}

/// A hash builder for words, which are hashes already.
pub(crate) type IdentityBuildHasher = std::hash::BuildHasherDefault<IdentityHasher>;

/// A hasher for values that are hashes already.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdentityHasher(u64);

impl std::hash::Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u32(&mut self, word: u32) {
        // The hash table uses the upper bits too.
        self.0 = u64::from(word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
