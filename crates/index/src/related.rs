//! The ranking result: a few files and symbols, each with the reason.

use serde::Serialize;
use windlass_tasks::{RelatedFile, RelatedSymbol, TaskContext};

use crate::codebase::CodebaseIndex;
use crate::rank::{self, RankQuery, Ranked};
use crate::walk;

/// The code that is probably relevant to a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Related {
    /// Best first, at most [`TaskContext::MAX_FILES`].
    pub files: Vec<RelatedFile>,
    /// Best first, at most [`TaskContext::MAX_SYMBOLS`].
    pub symbols: Vec<RelatedSymbol>,
}

impl CodebaseIndex {
    /// Returns the files and symbols that are probably relevant to a task description.
    pub fn related(&self, task: &str) -> Related {
        let query = RankQuery::new(task);
        let mut ranked = rank::rank(self, &query);
        ranked.files.truncate(TaskContext::MAX_FILES);
        Related {
            files: self.files(&query, &ranked),
            symbols: self.symbols(&query, &ranked),
        }
    }

    fn files(&self, query: &RankQuery, ranked: &Ranked) -> Vec<RelatedFile> {
        let file = |scored: &rank::Scored| {
            let record = &self.data().records[scored.at];
            RelatedFile {
                path: record.path.clone(),
                score: rounded(scored.score),
                why: rank::explain(record, query, ranked, scored),
            }
        };
        ranked.files.iter().map(file).collect()
    }

    fn symbols(&self, query: &RankQuery, ranked: &Ranked) -> Vec<RelatedSymbol> {
        let mut all = Vec::new();
        for scored in &ranked.files {
            let record = &self.data().records[scored.at];
            let Some(text) = walk::read(self.root(), &record.path, self.limits()) else {
                continue;
            };
            for hit in rank::symbol_hits(&record.symbols, &text, query, ranked) {
                let symbol = &record.symbols[hit.at];
                all.push(RelatedSymbol {
                    name: symbol.name.clone(),
                    kind: symbol.kind.as_str().to_owned(),
                    path: record.path.clone(),
                    line: symbol.line,
                    score: rounded(scored.score * hit.score),
                    why: hit.why,
                });
            }
        }
        // The sort is stable: among equal scores the better file, then the earlier line comes first.
        all.sort_by(|one, other| other.score.total_cmp(&one.score));
        all.truncate(TaskContext::MAX_SYMBOLS);
        all
    }
}

/// Rounds to three decimals: enough to compare, and the same on every machine.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1_000.0).round() / 1_000.0
}
