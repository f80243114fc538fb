//! Commit history signals: similar commits vote for the files they changed, and a file shares the votes of its
//! directory.

use std::collections::HashMap;

use super::query::RankQuery;
use super::text::Field;
use crate::bag::Bag;
use crate::history::History;
use crate::record::FileRecord;

/// Maximum number of similar commits that vote.
const MAX_VOTERS: usize = 20;

/// Scores each file by the commits with a message that is similar to the task.
pub(super) fn votes(history: &History, records: &[FileRecord], query: &RankQuery) -> Vec<f32> {
    let mut messages = Field::new(query);
    for bag in Bag::all(&history.bags).take(history.files.len()) {
        messages.add_bag(bag, query);
    }
    let scores = messages.scores(&query.message);
    let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
    order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
    let index_of = |path: &u32| {
        let path = history.paths.get(*path as usize)?;
        let found = records.binary_search_by(|record| record.path.as_str().cmp(path));
        found.ok()
    };
    let mut votes = vec![0.0; records.len()];
    for at in order.into_iter().take(MAX_VOTERS) {
        let files: Vec<usize> = history.files[at].iter().filter_map(index_of).collect();
        for file in &files {
            votes[*file] += scores[at] * scores[at] / (files.len() as f32).sqrt();
        }
    }
    votes
}

/// Scores each file by the votes for all files of its directory.
pub(super) fn folder_votes(records: &[FileRecord], votes: &[f32]) -> Vec<f32> {
    let mut sums: HashMap<&str, f32> = HashMap::new();
    for (record, vote) in records.iter().zip(votes) {
        *sums.entry(record.folder()).or_default() += vote;
    }
    let of_folder = |record: &FileRecord| sums.get(record.folder()).copied().unwrap_or(0.0);
    records.iter().map(of_folder).collect()
}
