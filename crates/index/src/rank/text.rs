//! Text relevance: BM25 over a file's contents, its best chunk, its path and the names it defines.
//!
//! The best chunk is searched twice: for all words of the task, and for the words of its first line alone. A long
//! description has many words that are not about the change; the first line says what to do.

use super::query::RankQuery;
use crate::bag::{Bag, BagBuilder};
use crate::record::FileRecord;
use crate::words::for_each_word;

/// BM25 parameter k1: how fast repeated words stop adding to the score.
const K: f32 = 1.2;
/// BM25 parameter b: how much the score of long texts is reduced.
const B: f32 = 0.75;

/// Scores of each file by each text signal, in the order of the records.
#[derive(Debug)]
pub(super) struct TextScores {
    pub(super) contents: Vec<f32>,
    pub(super) chunk: Vec<f32>,
    pub(super) subject: Vec<f32>,
    pub(super) path: Vec<f32>,
    pub(super) names: Vec<f32>,
    /// Inverse document frequency of each query word over all contents, weighted.
    pub(super) idf: Vec<f32>,
}

pub(super) fn scores(records: &[FileRecord], query: &RankQuery) -> TextScores {
    let mut contents = Field::new(query);
    let mut chunks = Field::new(query);
    let mut path = Field::new(query);
    let mut names = Field::new(query);
    let (mut counts, mut packed) = (vec![0u32; query.words.len()], Vec::new());
    let mut bag = BagBuilder::default();
    let mut ends = Vec::with_capacity(records.len());
    for record in records {
        let mut total = 0;
        for chunk in record.chunks() {
            total += chunk.total;
            chunks.add_bag(chunk, query);
            chunk.find(&query.words, |word, count| counts[word] += u32::from(count));
        }
        ends.push(chunks.ends.len());
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
    TextScores {
        chunk: best_of_each(&chunks.scores(&query.weights), &ends),
        subject: best_of_each(&chunks.scores(&query.subject), &ends),
        idf: contents.idf(&query.weights),
        contents: contents.scores(&query.weights),
        path: path.scores(&query.weights),
        names: names.scores(&query.weights),
    }
}

/// Returns the best score of each file's chunks. `ends` has the end of each file's chunks.
fn best_of_each(chunk_scores: &[f32], ends: &[usize]) -> Vec<f32> {
    let mut start = 0;
    let best = ends.iter().map(|end| {
        let own = &chunk_scores[start..*end];
        start = *end;
        own.iter().copied().fold(0.0, f32::max)
    });
    best.collect()
}

/// Many texts of one kind, with the query words in each.
#[derive(Debug)]
pub(super) struct Field {
    /// Indices of query words with their counts, text after text.
    hits: Vec<(u16, u16)>,
    /// End of each text's hits.
    ends: Vec<usize>,
    lengths: Vec<u32>,
    /// Number of texts that contain each word.
    document_frequency: Vec<u32>,
}

impl Field {
    pub(super) fn new(query: &RankQuery) -> Self {
        Self {
            hits: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
            document_frequency: vec![0; query.words.len()],
        }
    }

    pub(super) fn add_bag(&mut self, bag: Bag<'_>, query: &RankQuery) {
        let (hits, document_frequency) = (&mut self.hits, &mut self.document_frequency);
        bag.find(&query.words, |word, count| {
            hits.push((word as u16, u16::from(count)));
            document_frequency[word] += 1;
        });
        self.ends.push(self.hits.len());
        self.lengths.push(bag.total);
    }

    fn add(&mut self, found: impl Iterator<Item = (usize, u32)>, length: u32) {
        for (word, count) in found {
            let count = u16::try_from(count).unwrap_or(u16::MAX);
            self.hits.push((word as u16, count));
            self.document_frequency[word] += 1;
        }
        self.ends.push(self.hits.len());
        self.lengths.push(length);
    }

    /// Returns the inverse document frequency of each word, times its weight.
    fn idf(&self, weights: &[f32]) -> Vec<f32> {
        let texts = self.ends.len() as f32;
        let idf = |(frequency, weight): (&u32, &f32)| {
            let frequency = *frequency as f32;
            weight * (1.0 + (texts - frequency + 0.5) / (frequency + 0.5)).ln()
        };
        self.document_frequency
            .iter()
            .zip(weights)
            .map(idf)
            .collect()
    }

    /// Returns the score of each text for words with these weights.
    pub(super) fn scores(&self, weights: &[f32]) -> Vec<f32> {
        let non_empty = self.lengths.iter().filter(|length| **length > 0).count();
        let total: u64 = self.lengths.iter().map(|length| u64::from(*length)).sum();
        let average = (total as f32 / non_empty.max(1) as f32).max(1.0);
        let idf = self.idf(weights);
        let mut start = 0;
        let score = |(end, length): (&usize, &u32)| {
            let hits = &self.hits[start..*end];
            start = *end;
            let length_norm = K * (1.0 - B + B * *length as f32 / average);
            hits.iter()
                .map(|(word, count)| {
                    let count = f32::from(*count);
                    idf[usize::from(*word)] * count * (K + 1.0) / (count + length_norm)
                })
                .sum()
        };
        self.ends.iter().zip(&self.lengths).map(score).collect()
    }
}
