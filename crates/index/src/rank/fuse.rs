//! The signals brought together.

use super::commits::CommitSignals;
use super::kind::FileKind;
use super::query::RankQuery;
use super::references::ReferenceGraph;
use super::text;
use crate::codebase::CodebaseIndex;

/// What each signal says about one file, from zero to one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals {
    /// Its contents.
    pub(crate) contents: f32,
    /// Its best piece.
    pub(crate) piece: f32,
    /// Its path.
    pub(crate) path: f32,
    /// The names it defines.
    pub(crate) names: f32,
    /// Past commits told in like words.
    pub(crate) votes: f32,
    /// How it changed together with the likely files.
    pub(crate) together: f32,
    /// How the likely files refer to it.
    pub(crate) links: f32,
}

/// How much each signal counts for. There are few of them, and they are round: they were chosen on the history of
/// eight repositories, and are meant for others.
pub(super) const WEIGHTS: Signals = Signals {
    contents: 0.8,
    piece: 1.0,
    path: 0.5,
    names: 0.1,
    votes: 0.5,
    together: 0.2,
    links: 0.1,
};
/// How many of the best by text and past decide what is near them.
const MAX_SEEDS: usize = 10;

/// A file with its score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    /// Its place among the records.
    pub(crate) at: usize,
    pub(crate) score: f32,
    pub(crate) signals: Signals,
}

/// The files that have anything to do with a task.
#[derive(Debug)]
pub(crate) struct Ranked {
    /// Best first.
    pub(crate) files: Vec<Scored>,
    /// How telling each word of the query is.
    pub(crate) rarity: Vec<f32>,
}

/// Every file that has anything to do with the task, best first.
pub(crate) fn rank(index: &CodebaseIndex, query: &RankQuery) -> Ranked {
    let records = &index.records;
    let mut text = text::scores(records, query);
    let past = CommitSignals::new(&index.history, records);
    let mut votes = past.votes(&index.history, query);
    for scores in [
        &mut text.contents,
        &mut text.piece,
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
                piece: text.piece[at],
                path: text.path[at],
                names: text.names[at],
                votes: votes[at],
                ..Signals::default()
            };
            Scored::new(at, signals, FileKind::from_path(&records[at].path))
        })
        .collect();
    let seeds = seeds(&files);
    let mut together = past.co_changed(&seeds);
    let mut links = ReferenceGraph::new(records).spread(&seeds);
    normalize(&mut together);
    normalize(&mut links);
    for file in &mut files {
        let signals = Signals {
            together: together[file.at],
            links: links[file.at],
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
        rarity: text.rarity,
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
    /// What each signal brings to the score.
    pub(super) fn weighted(&self) -> [f32; 7] {
        [
            self.contents * WEIGHTS.contents,
            self.piece * WEIGHTS.piece,
            self.path * WEIGHTS.path,
            self.names * WEIGHTS.names,
            self.votes * WEIGHTS.votes,
            self.together * WEIGHTS.together,
            self.links * WEIGHTS.links,
        ]
    }
}

/// The best few so far, with their scores.
fn seeds(files: &[Scored]) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = files.iter().map(|file| (file.at, file.score)).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    all.truncate(MAX_SEEDS);
    all.retain(|(_, score)| *score > 0.0);
    all
}

/// Brings scores to the range from zero to one.
fn normalize(scores: &mut [f32]) {
    let top = scores.iter().copied().fold(0.0, f32::max);
    if top > 0.0 {
        for score in scores {
            *score /= top;
        }
    }
}
