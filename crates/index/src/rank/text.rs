//! Text relevance: BM25 over a file's contents, its best piece, its path and the names it defines.

use super::query::RankQuery;
use crate::bag::{Bag, BagBuilder};
use crate::record::FileRecord;
use crate::words::for_each_word;

/// How soon saying a word again stops counting.
const K: f32 = 1.2;
/// How much a long text is held against it.
const B: f32 = 0.75;

/// What each text signal says about each file, in the order of the records.
#[derive(Debug)]
pub(super) struct TextScores {
    pub(super) contents: Vec<f32>,
    pub(super) piece: Vec<f32>,
    pub(super) path: Vec<f32>,
    pub(super) names: Vec<f32>,
    /// How telling each word of the query is among all contents.
    pub(super) rarity: Vec<f32>,
}

pub(super) fn scores(records: &[FileRecord], query: &RankQuery) -> TextScores {
    let mut contents = Field::new(query);
    let mut pieces = Field::new(query);
    let mut path = Field::new(query);
    let mut names = Field::new(query);
    let (mut counts, mut packed) = (vec![0u32; query.words.len()], Vec::new());
    let mut bag = BagBuilder::default();
    let mut ends = Vec::with_capacity(records.len());
    for record in records {
        let mut total = 0;
        for piece in record.pieces() {
            total += piece.total;
            pieces.add_bag(piece, query);
            piece.find(&query.words, |word, count| counts[word] += u32::from(count));
        }
        ends.push(pieces.ends.len());
        let found = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        contents.add(found.map(|(word, count)| (word, *count)), total);
        counts.fill(0);
        for_each_word(record.path.as_bytes(), |word, _| bag.add(word));
        packed.clear();
        bag.pack(&mut packed);
        if let Some((own, _)) = Bag::first(&packed) {
            path.add_bag(own, query);
        }
        match record.names() {
            Some(own) => names.add_bag(own, query),
            None => names.add(std::iter::empty(), 0),
        }
    }
    let each = pieces.scores(query);
    let mut start = 0;
    let best = ends.into_iter().map(|end| {
        let own = &each[start..end];
        start = end;
        own.iter().copied().fold(0.0, f32::max)
    });
    TextScores {
        piece: best.collect(),
        rarity: contents.idf(query),
        contents: contents.scores(query),
        path: path.scores(query),
        names: names.scores(query),
    }
}

/// Many texts of one kind, with what of the query is in each.
#[derive(Debug)]
pub(super) struct Field {
    /// Words of the query by their place, with their counts, text after text.
    hits: Vec<(u16, u16)>,
    /// Where each text's hits end.
    ends: Vec<usize>,
    lengths: Vec<u32>,
    /// In how many texts each word is.
    spread: Vec<u32>,
}

impl Field {
    pub(super) fn new(query: &RankQuery) -> Self {
        Self {
            hits: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
            spread: vec![0; query.words.len()],
        }
    }

    pub(super) fn add_bag(&mut self, bag: Bag<'_>, query: &RankQuery) {
        let (hits, spread) = (&mut self.hits, &mut self.spread);
        bag.find(&query.words, |word, count| {
            hits.push((word as u16, u16::from(count)));
            spread[word] += 1;
        });
        self.ends.push(self.hits.len());
        self.lengths.push(bag.total);
    }

    fn add(&mut self, found: impl Iterator<Item = (usize, u32)>, length: u32) {
        for (word, count) in found {
            let count = u16::try_from(count).unwrap_or(u16::MAX);
            self.hits.push((word as u16, count));
            self.spread[word] += 1;
        }
        self.ends.push(self.hits.len());
        self.lengths.push(length);
    }

    /// How telling each word is: a word that few texts have, and that the query says often.
    fn idf(&self, query: &RankQuery) -> Vec<f32> {
        let texts = self.ends.len() as f32;
        let telling = |(spread, weight): (&u32, &f32)| {
            let spread = *spread as f32;
            weight * (1.0 + (texts - spread + 0.5) / (spread + 0.5)).ln()
        };
        self.spread
            .iter()
            .zip(&query.weights)
            .map(telling)
            .collect()
    }

    /// The score of each text.
    pub(super) fn scores(&self, query: &RankQuery) -> Vec<f32> {
        let written = self.lengths.iter().filter(|length| **length > 0).count();
        let total: u64 = self.lengths.iter().map(|length| u64::from(*length)).sum();
        let average = (total as f32 / written.max(1) as f32).max(1.0);
        let rarity = self.idf(query);
        let mut start = 0;
        let score = |(end, length): (&usize, &u32)| {
            let hits = &self.hits[start..*end];
            start = *end;
            let room = K * (1.0 - B + B * *length as f32 / average);
            hits.iter()
                .map(|(word, count)| {
                    let count = f32::from(*count);
                    rarity[usize::from(*word)] * count * (K + 1.0) / (count + room)
                })
                .sum()
        };
        self.ends.iter().zip(&self.lengths).map(score).collect()
    }
}
