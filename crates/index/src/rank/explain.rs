//! Why a file was chosen, in a few words.

use super::fuse::{Ranked, Scored};
use super::query::RankQuery;
use crate::bag::{Bag, BagBuilder};
use crate::record::FileRecord;
use crate::words::for_each_word;

/// A signal that brought less than this part of the score is not worth a word.
const MIN_SHARE: f32 = 0.03;
/// The most words that are named for one signal.
const MAX_NAMED_WORDS: usize = 4;

/// Why this file was chosen: its strongest signals, each with what it saw.
pub(crate) fn explain(
    record: &FileRecord,
    query: &RankQuery,
    ranked: &Ranked,
    scored: &Scored,
) -> String {
    let [contents, piece, path, names, votes, together, links] = scored.signals.weighted();
    let mut parts = vec![
        (contents + piece, Reason::Text),
        (path, Reason::Path),
        (names, Reason::Names),
        (votes, Reason::Votes),
        (together, Reason::Together),
        (links, Reason::Links),
    ];
    let total: f32 = parts.iter().map(|(part, _)| part).sum();
    parts.retain(|(part, _)| *part > 0.0 && *part >= MIN_SHARE * total);
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let say = |(_, reason): &(f32, Reason)| reason.describe(record, query, ranked);
    let said: Vec<String> = parts.iter().filter_map(say).collect();
    said.join("; ")
}

#[derive(Debug, Clone, Copy)]
enum Reason {
    Text,
    Path,
    Names,
    Votes,
    Together,
    Links,
}

impl Reason {
    fn describe(self, record: &FileRecord, query: &RankQuery, ranked: &Ranked) -> Option<String> {
        Some(match self {
            Self::Text => format!("says {}", best(record.pieces(), query, ranked)?),
            Self::Names => format!(
                "defines {}",
                best(record.names().into_iter(), query, ranked)?
            ),
            Self::Path => {
                let (mut bag, mut packed) = (BagBuilder::default(), Vec::new());
                for_each_word(record.path.as_bytes(), |word, _| bag.add(word));
                bag.pack(&mut packed);
                format!("its path says {}", best(Bag::all(&packed), query, ranked)?)
            }
            Self::Votes => "past commits told in like words changed it".to_owned(),
            Self::Together => "it changed together with other likely files".to_owned(),
            Self::Links => "other likely files refer to it".to_owned(),
        })
    }
}

/// The words of the query that are here, the telling ones first.
fn best<'a>(
    bags: impl Iterator<Item = Bag<'a>>,
    query: &RankQuery,
    ranked: &Ranked,
) -> Option<String> {
    let mut here = vec![false; query.words.len()];
    for bag in bags {
        bag.find(&query.words, |word, _| here[word] = true);
    }
    let mut found: Vec<usize> = (0..here.len()).filter(|word| here[*word]).collect();
    found.sort_by(|one, other| ranked.rarity[*other].total_cmp(&ranked.rarity[*one]));
    let said: Vec<&str> = found
        .iter()
        .take(MAX_NAMED_WORDS)
        .map(|word| query.said[*word].as_str())
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}
