//! Commit history signals: similar commits vote for the files they changed, and files that changed together
//! are related.

use std::collections::HashMap;

use super::query::RankQuery;
use super::text::Field;
use crate::bag::Bag;
use crate::history::History;
use crate::record::FileRecord;

/// Maximum number of similar commits that vote.
const MAX_VOTERS: usize = 50;
/// Minimum number of changes for the normalization: a file with fewer changes says little about related
/// files.
const MIN_CHANGES: f32 = 4.0;

/// The commits, with their files as indices of the records.
#[derive(Debug)]
pub(super) struct CommitSignals {
    commits: Vec<Vec<usize>>,
    files: usize,
}

impl CommitSignals {
    pub(super) fn new(history: &History, records: &[FileRecord]) -> Self {
        let indices: HashMap<&str, usize> = records
            .iter()
            .enumerate()
            .map(|(at, record)| (record.path.as_str(), at))
            .collect();
        let known: Vec<Option<usize>> = history
            .paths
            .iter()
            .map(|path| indices.get(path.as_str()).copied())
            .collect();
        let record_indices = |files: &Vec<u32>| {
            let files = files.iter();
            files
                .filter_map(|at| *known.get(*at as usize)?)
                .collect::<Vec<_>>()
        };
        Self {
            commits: history.files.iter().map(record_indices).collect(),
            files: records.len(),
        }
    }

    /// Scores each file by the commits with a message that is similar to the task.
    pub(super) fn votes(&self, history: &History, query: &RankQuery) -> Vec<f32> {
        let mut messages = Field::new(query);
        for bag in Bag::all(&history.bags).take(self.commits.len()) {
            messages.add_bag(bag, query);
        }
        let scores = messages.scores(query);
        let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
        let mut votes = vec![0.0; self.files];
        for at in order.into_iter().take(MAX_VOTERS) {
            let files = &self.commits[at];
            for file in files {
                votes[*file] += scores[at] * scores[at] / (files.len() as f32).sqrt();
            }
        }
        votes
    }

    /// Scores each file by how often it changed together with the seeds.
    pub(super) fn co_changed(&self, seeds: &[(usize, f32)]) -> Vec<f32> {
        let weights: HashMap<usize, f32> = seeds.iter().copied().collect();
        let mut changes: HashMap<usize, f32> = HashMap::new();
        for file in self.commits.iter().flatten() {
            if weights.contains_key(file) {
                *changes.entry(*file).or_default() += 1.0;
            }
        }
        let mut scores = vec![0.0; self.files];
        for commit in self.commits.iter().filter(|commit| commit.len() > 1) {
            for seed in commit {
                let Some(weight) = weights.get(seed) else {
                    continue;
                };
                let share = changes.get(seed).copied().unwrap_or(1.0).max(MIN_CHANGES);
                for file in commit.iter().filter(|file| *file != seed) {
                    scores[*file] += weight / share / (commit.len() as f32 - 1.0).sqrt();
                }
            }
        }
        scores
    }
}
