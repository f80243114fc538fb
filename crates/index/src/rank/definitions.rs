//! Scores the files that define a name that the task spells exactly.

use std::collections::HashMap;

use super::query::RankQuery;
use crate::record::FileRecord;

/// Scores each file by the names of the task that it defines. A name that few files define counts more.
pub(super) fn scores(records: &[FileRecord], query: &RankQuery) -> Vec<f32> {
    let mut scores = vec![0.0; records.len()];
    if query.names.is_empty() {
        return scores;
    }
    let mut definers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        for symbol in &record.symbols {
            if let Some(name) = query.names.get(&symbol.name) {
                let files = definers.entry(name).or_default();
                if files.last() != Some(&at) {
                    files.push(at);
                }
            }
        }
    }
    // A fixed order of the sum, because the rounding of a sum depends on it.
    let mut definers: Vec<_> = definers.into_iter().collect();
    definers.sort_unstable();
    for (_, files) in definers {
        let weight = (1.0 + records.len() as f32 / files.len() as f32).ln();
        for at in files {
            scores[at] += weight;
        }
    }
    scores
}
