//! Combines the signals into one score.

use super::kind::FileKind;
use super::query::RankQuery;
use super::{commits, definitions, text};
use crate::codebase::{CodebaseIndex, IndexData};

/// The score of one file by each signal, from zero to one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals {
    /// The whole text.
    pub(crate) contents: f32,
    /// The best chunk of the text.
    pub(crate) chunk: f32,
    /// The best chunk of the text, by the first line of the task.
    pub(crate) subject: f32,
    /// The path.
    pub(crate) path: f32,
    /// The parts of the defined names.
    pub(crate) names: f32,
    /// Commits with similar messages.
    pub(crate) votes: f32,
    /// Commits with similar messages that changed the directory.
    pub(crate) folder: f32,
    /// Definitions of names that the task spells exactly.
    pub(crate) defines: f32,
}

/// Weights of the signals. They are few and round: they were chosen on the history of eight repositories, and
/// are meant for others. Files that change together and references between files were tried and added nothing.
pub(super) const WEIGHTS: Signals = Signals {
    contents: 0.8,
    chunk: 1.0,
    subject: 0.3,
    path: 0.5,
    names: 0.1,
    votes: 0.5,
    folder: 0.2,
    defines: 0.3,
};

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
    let IndexData { records, history } = index.data();
    let kinds = records
        .iter()
        .map(|record| FileKind::from_path(&record.path));
    let kinds: Vec<FileKind> = kinds.collect();
    let mut text = text::scores(records, query);
    let mut votes = commits::votes(history, records, query);
    let mut folder = commits::folder_votes(records, &votes);
    let mut defines = definitions::scores(records, query);
    for scores in [
        &mut text.contents,
        &mut text.chunk,
        &mut text.subject,
        &mut text.path,
        &mut text.names,
        &mut votes,
        &mut folder,
        &mut defines,
    ] {
        normalize(scores, &kinds);
    }
    let scored = |at: usize| {
        let signals = Signals {
            contents: text.contents[at],
            chunk: text.chunk[at],
            subject: text.subject[at],
            path: text.path[at],
            names: text.names[at],
            votes: votes[at],
            folder: folder[at],
            defines: defines[at],
        };
        let sum: f32 = signals.weighted().iter().sum();
        Scored {
            at,
            score: sum * kinds[at].weight(),
            signals,
        }
    };
    let mut files: Vec<Scored> = (0..records.len()).map(scored).collect();
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

impl Signals {
    /// Returns the contribution of each signal to the score.
    pub(super) fn weighted(&self) -> [f32; 8] {
        [
            self.contents * WEIGHTS.contents,
            self.chunk * WEIGHTS.chunk,
            self.subject * WEIGHTS.subject,
            self.path * WEIGHTS.path,
            self.names * WEIGHTS.names,
            self.votes * WEIGHTS.votes,
            self.folder * WEIGHTS.folder,
            self.defines * WEIGHTS.defines,
        ]
    }
}

/// Divides scores by the best score of a source file. Tests and documentation repeat the words of a task more often
/// than the code, and would set a maximum that no code reaches.
fn normalize(scores: &mut [f32], kinds: &[FileKind]) {
    let best = |only_source: bool| {
        let all = scores.iter().zip(kinds);
        let counted = all.filter(|(_, kind)| !only_source || **kind == FileKind::Source);
        counted.map(|(score, _)| *score).fold(0.0, f32::max)
    };
    let top = Some(best(true))
        .filter(|top| *top > 0.0)
        .unwrap_or(best(false));
    if top > 0.0 {
        for score in scores {
            *score /= top;
        }
    }
}
