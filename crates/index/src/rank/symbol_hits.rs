//! Finds the symbols of a relevant file that match the task, by name and by body.

use super::fuse::Ranked;
use super::query::RankQuery;
use crate::bag::{Bag, BagBuilder};
use crate::symbols::Symbol;
use crate::words::for_each_word;

/// Weight of a word in a symbol's name, relative to one in its body.
const NAME_WEIGHT: f32 = 1.0;
/// Number of words in a body of usual length.
const TYPICAL_BODY_WORDS: f32 = 80.0;

/// A symbol that matches the task.
#[derive(Debug)]
pub(crate) struct SymbolHit {
    /// Index among the file's symbols.
    pub(crate) at: usize,
    pub(crate) score: f32,
    pub(crate) why: String,
}

/// Returns the symbols of a text that match the task. A symbol extends to the start of the next one.
pub(crate) fn symbol_hits(
    symbols: &[Symbol],
    text: &[u8],
    query: &RankQuery,
    ranked: &Ranked,
) -> Vec<SymbolHit> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let start_line = |at: usize| {
        symbols
            .get(at)
            .map_or(lines.len(), |next| next.line as usize - 1)
    };
    let max_score: f32 = ranked.idf.iter().sum::<f32>().max(1.0);
    let mut hits = Vec::new();
    for (at, symbol) in symbols.iter().enumerate() {
        let start = start_line(at).min(lines.len());
        let body = &lines[start..start_line(at + 1).clamp(start, lines.len())];
        let (name, name_words) =
            QueryCounts::new(&[symbol.name.as_bytes()], query).score(query, ranked);
        let (body, body_words) = QueryCounts::new(body, query).score(query, ranked);
        let score = (NAME_WEIGHT * name + body) / max_score;
        if score > 0.0 {
            let why = if name_words.is_empty() {
                format!("body contains {}", body_words.join(", "))
            } else {
                format!("name contains {}", name_words.join(", "))
            };
            hits.push(SymbolHit { at, score, why });
        }
    }
    hits
}

/// The query words in a few lines.
struct QueryCounts {
    hits: Vec<(usize, u8)>,
    total: u32,
}

impl QueryCounts {
    fn new(lines: &[&[u8]], query: &RankQuery) -> Self {
        let (mut bag, mut packed, mut hits) = (BagBuilder::default(), Vec::new(), Vec::new());
        for line in lines {
            for_each_word(line, |word, _| bag.add(word));
        }
        bag.pack(&mut packed);
        let bag = Bag::first(&packed).map(|(bag, _)| bag);
        if let Some(bag) = bag {
            bag.find(&query.words, |word, count| hits.push((word, count)));
        }
        Self {
            hits,
            total: bag.map_or(0, |bag| bag.total),
        }
    }

    /// Returns the score, and the words that contribute most.
    fn score(&self, query: &RankQuery, ranked: &Ranked) -> (f32, Vec<String>) {
        let length_norm = 0.3 + 0.9 * self.total as f32 / TYPICAL_BODY_WORDS;
        let word_score = |(word, count): &(usize, u8)| {
            let count = f32::from(*count);
            let score = ranked.idf[*word] * count * 2.2 / (count + length_norm);
            (score, *word)
        };
        let mut each: Vec<(f32, usize)> = self.hits.iter().map(word_score).collect();
        each.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let words = each
            .iter()
            .take(3)
            .map(|(_, word)| query.spellings[*word].clone());
        (each.iter().map(|(score, _)| score).sum(), words.collect())
    }
}
