//! Combines the signals into one score.

use super::commits::CommitSignals;
use super::kind::FileKind;
use super::query::RankQuery;
use super::references::ReferenceGraph;
use super::text;
use crate::codebase::CodebaseIndex;

/// The score of one file by each signal, from zero to one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals {
    /// The whole text.
    pub(crate) contents: f32,
    /// The best chunk of the text.
    pub(crate) chunk: f32,
    /// The path.
    pub(crate) path: f32,
    /// The defined names.
    pub(crate) names: f32,
    /// Commits with similar messages.
    pub(crate) votes: f32,
    /// Changes together with the relevant files.
    pub(crate) co_changed: f32,
    /// References from the relevant files.
    pub(crate) references: f32,
}

/// Weights of the signals. They are few and round: they were chosen on the history of eight repositories, and
/// are meant for others.
pub(super) const WEIGHTS: Signals = Signals {
    contents: 0.8,
    chunk: 1.0,
    path: 0.5,
    names: 0.1,
    votes: 0.5,
    co_changed: 0.2,
    references: 0.1,
};
/// Number of best files by text and history that the co-change and reference signals start from.
const MAX_SEEDS: usize = 10;

/// A file with its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    /// Index of the record.
    pub(crate) at: usize,
    pub(crate) score: f32,
    pub(crate) signals: Signals,
}

/// The files with a positive score.
#[derive(Debug)]
pub(crate) struct Ranked {
    /// Best first.
    pub(crate) files: Vec<Scored>,
    /// Inverse document frequency of each query word, weighted.
    pub(crate) idf: Vec<f32>,
}

/// Returns all files with a positive score, best first.
pub(crate) fn rank(index: &CodebaseIndex, query: &RankQuery) -> Ranked {
    let records = &index.records;
    let mut text = text::scores(records, query);
    let commits = CommitSignals::new(&index.history, records);
    let mut votes = commits.votes(&index.history, query);
    for scores in [
        &mut text.contents,
        &mut text.chunk,
        &mut text.path,
        &mut text.names,
        &mut votes,
    ] {
        normalize(scores);
    }
    let mut files: Vec<Scored> = (0..records.len())
        .map(|at| {
            let signals = Signals {
                contents: text.contents[at],
                chunk: text.chunk[at],
                path: text.path[at],
                names: text.names[at],
                votes: votes[at],
                ..Signals::default()
            };
            Scored::new(at, signals, FileKind::from_path(&records[at].path))
        })
        .collect();
    let seeds = seeds(&files);
    let mut co_changed = commits.co_changed(&seeds);
    let mut references = ReferenceGraph::new(records).spread(&seeds);
    normalize(&mut co_changed);
    normalize(&mut references);
    for file in &mut files {
        let signals = Signals {
            co_changed: co_changed[file.at],
            references: references[file.at],
            ..file.signals
        };
        *file = Scored::new(
            file.at,
            signals,
            FileKind::from_path(&records[file.at].path),
        );
    }
    files.retain(|file| file.score > 0.0);
    files.sort_by(|one, other| {
        other
            .score
            .total_cmp(&one.score)
            .then(one.at.cmp(&other.at))
    });
    Ranked {
        files,
        idf: text.idf,
    }
}

impl Scored {
    fn new(at: usize, signals: Signals, kind: FileKind) -> Self {
        let sum: f32 = signals.weighted().iter().sum();
        Self {
            at,
            score: sum * kind.weight(),
            signals,
        }
    }
}

impl Signals {
    /// Returns the contribution of each signal to the score.
    pub(super) fn weighted(&self) -> [f32; 7] {
        [
            self.contents * WEIGHTS.contents,
            self.chunk * WEIGHTS.chunk,
            self.path * WEIGHTS.path,
            self.names * WEIGHTS.names,
            self.votes * WEIGHTS.votes,
            self.co_changed * WEIGHTS.co_changed,
            self.references * WEIGHTS.references,
        ]
    }
}

/// Returns the best files so far, with their scores.
fn seeds(files: &[Scored]) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = files.iter().map(|file| (file.at, file.score)).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    all.truncate(MAX_SEEDS);
    all.retain(|(_, score)| *score > 0.0);
    all
}

/// Normalizes scores to the range from zero to one.
fn normalize(scores: &mut [f32]) {
    let top = scores.iter().copied().fold(0.0, f32::max);
    if top > 0.0 {
        for score in scores {
            *score /= top;
        }
    }
}
