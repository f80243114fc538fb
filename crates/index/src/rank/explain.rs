//! Explains briefly why a file was chosen.

use super::fuse::{Ranked, Scored};
use super::query::RankQuery;
use crate::bag::{Bag, BagBuilder};
use crate::record::FileRecord;
use crate::words::for_each_word;

/// Signals that contribute less than this share of the score are not mentioned.
const MIN_SHARE: f32 = 0.03;
/// Maximum number of words listed per signal.
const MAX_NAMED_WORDS: usize = 4;

/// Returns why this file was chosen: its strongest signals, each with the matching words.
pub(crate) fn explain(
    record: &FileRecord,
    query: &RankQuery,
    ranked: &Ranked,
    scored: &Scored,
) -> String {
    let [
        contents,
        chunk,
        subject,
        path,
        names,
        votes,
        folder,
        defines,
    ] = scored.signals.weighted();
    let mut parts = vec![
        (contents + chunk + subject, Reason::Text),
        (path, Reason::Path),
        (names + defines, Reason::Names),
        (votes, Reason::Votes),
        (folder, Reason::Folder),
    ];
    let total: f32 = parts.iter().map(|(part, _)| part).sum();
    parts.retain(|(part, _)| *part > 0.0 && *part >= MIN_SHARE * total);
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let describe = |(_, reason): &(f32, Reason)| reason.describe(record, query, ranked);
    let reasons: Vec<String> = parts.iter().filter_map(describe).collect();
    reasons.join("; ")
}

#[derive(Debug, Clone, Copy)]
enum Reason {
    Text,
    Path,
    Names,
    Votes,
    Folder,
}

impl Reason {
    fn describe(self, record: &FileRecord, query: &RankQuery, ranked: &Ranked) -> Option<String> {
        Some(match self {
            Self::Text => format!("contains {}", best(record.chunks(), query, ranked)?),
            Self::Names => format!(
                "defines {}",
                best(record.names().into_iter(), query, ranked)?
            ),
            Self::Path => {
                let (mut bag, mut packed) = (BagBuilder::default(), Vec::new());
                for_each_word(record.path.as_bytes(), |word, _| bag.add(word));
                bag.pack(&mut packed);
                format!("path contains {}", best(Bag::all(&packed), query, ranked)?)
            }
            Self::Votes => "changed by commits with similar messages".to_owned(),
            Self::Folder => "in a directory that such commits changed".to_owned(),
        })
    }
}

/// Returns the query words in the bags, the most distinctive first.
fn best<'a>(
    bags: impl Iterator<Item = Bag<'a>>,
    query: &RankQuery,
    ranked: &Ranked,
) -> Option<String> {
    let mut present = vec![false; query.words.len()];
    for bag in bags {
        bag.find(&query.words, |word, _| present[word] = true);
    }
    let mut found: Vec<usize> = (0..present.len()).filter(|word| present[*word]).collect();
    found.sort_by(|one, other| ranked.idf[*other].total_cmp(&ranked.idf[*one]));
    let spellings: Vec<&str> = found
        .iter()
        .take(MAX_NAMED_WORDS)
        .map(|word| query.spellings[*word].as_str())
        .collect();
    (!spellings.is_empty()).then(|| spellings.join(", "))
}
