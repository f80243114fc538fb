//! Which symbols of a likely file the task is about: by their names, and by what stands in them.

use super::fuse::Ranked;
use super::query::RankQuery;
use crate::bag::{Bag, BagBuilder};
use crate::symbols::Symbol;
use crate::words::for_each_word;

/// How much a word in a symbol's name counts for, against one in its body.
const NAME_WEIGHT: f32 = 1.0;
/// As many words as a body of usual length has.
const TYPICAL_BODY_WORDS: f32 = 80.0;

/// A symbol that has something to do with the task.
#[derive(Debug)]
pub(crate) struct SymbolHit {
    /// Its place among the file's symbols.
    pub(crate) at: usize,
    pub(crate) score: f32,
    pub(crate) why: String,
}

/// The symbols of a text that have something to do with the task. A symbol reaches to where the next one begins.
pub(crate) fn symbol_hits(
    symbols: &[Symbol],
    text: &[u8],
    query: &RankQuery,
    ranked: &Ranked,
) -> Vec<SymbolHit> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let begin = |at: usize| {
        symbols
            .get(at)
            .map_or(lines.len(), |next| next.line as usize - 1)
    };
    let most: f32 = ranked.rarity.iter().sum::<f32>().max(1.0);
    let mut places = Vec::new();
    for (at, symbol) in symbols.iter().enumerate() {
        let start = begin(at).min(lines.len());
        let body = &lines[start..begin(at + 1).clamp(start, lines.len())];
        let (name, named) = QueryCounts::new(&[symbol.name.as_bytes()], query).score(query, ranked);
        let (body, said) = QueryCounts::new(body, query).score(query, ranked);
        let score = (NAME_WEIGHT * name + body) / most;
        if score > 0.0 {
            let why = match named.is_empty() {
                false => format!("its name says {}", named.join(", ")),
                true => format!("its body says {}", said.join(", ")),
            };
            places.push(SymbolHit { at, score, why });
        }
    }
    places
}

/// What of the query is in a few lines.
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

    /// How much of the query that is, and the words that say most.
    fn score(&self, query: &RankQuery, ranked: &Ranked) -> (f32, Vec<String>) {
        let room = 0.3 + 0.9 * self.total as f32 / TYPICAL_BODY_WORDS;
        let worth = |(word, count): &(usize, u8)| {
            let count = f32::from(*count);
            (ranked.rarity[*word] * count * 2.2 / (count + room), *word)
        };
        let mut each: Vec<(f32, usize)> = self.hits.iter().map(worth).collect();
        each.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let said = each
            .iter()
            .take(3)
            .map(|(_, word)| query.said[*word].clone());
        (each.iter().map(|(score, _)| score).sum(), said.collect())
    }
}
