//! References between files: which files define the names that the relevant files use.

use std::collections::HashMap;

use crate::bag::IdentityBuildHasher;
use crate::record::FileRecord;
use crate::words::{self, WordHash};

/// Maximum number of files that define a name; a name with more definitions identifies none of them.
const MAX_DEFINERS: usize = 5;
/// Minimum size of a name; shorter names are too common.
const MIN_NAME_BYTES: usize = 4;

/// The files that define each name.
#[derive(Debug)]
pub(super) struct ReferenceGraph<'a> {
    records: &'a [FileRecord],
    definers: HashMap<WordHash, Vec<u32>, IdentityBuildHasher>,
}

impl<'a> ReferenceGraph<'a> {
    pub(super) fn new(records: &'a [FileRecord]) -> Self {
        let mut definers: HashMap<WordHash, Vec<u32>, IdentityBuildHasher> = HashMap::default();
        for (at, record) in records.iter().enumerate() {
            for symbol in &record.symbols {
                if symbol.name.len() < MIN_NAME_BYTES {
                    continue;
                }
                let files = definers
                    .entry(words::hash_name(symbol.name.as_bytes()))
                    .or_default();
                if files.last() != Some(&(at as u32)) && files.len() <= MAX_DEFINERS {
                    files.push(at as u32);
                }
            }
        }
        definers.retain(|_, files| files.len() <= MAX_DEFINERS);
        Self { records, definers }
    }

    /// Scores each file by the references from the seeds.
    pub(super) fn spread(&self, seeds: &[(usize, f32)]) -> Vec<f32> {
        let mut scores = vec![0.0; self.records.len()];
        for (seed, weight) in seeds {
            for (file, share) in self.reference_shares(*seed) {
                scores[file as usize] += weight * share;
            }
        }
        scores
    }

    /// Returns the files that a file refers to, as shares of all its references.
    fn reference_shares(&self, at: usize) -> Vec<(u32, f32)> {
        let mut shares: Vec<(u32, f32)> = Vec::new();
        let mut total = 0.0;
        let uses = self.records.get(at).and_then(FileRecord::uses);
        for (name, count) in uses.iter().flat_map(|bag| bag.iter()) {
            let Some(files) = self.definers.get(&name) else {
                continue;
            };
            if files.contains(&(at as u32)) {
                continue;
            }
            let weight = f32::from(count).sqrt() / files.len() as f32;
            total += weight * files.len() as f32;
            shares.extend(files.iter().map(|file| (*file, weight)));
        }
        for (_, share) in &mut shares {
            *share /= total;
        }
        shares
    }
}
