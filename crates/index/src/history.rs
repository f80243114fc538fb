//! What past commits say: which words went with which files, and which files change together.
//!
//! This crate starts no process. Whoever can run git hands the commits in.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::bag::BagBuilder;
use crate::words::for_each_word;

/// A commit that changed more files than this was about none of them.
const MAX_COMMIT_FILES: usize = 20;
/// A longer message is a document.
const MESSAGE_BYTES: usize = 4_000;

/// A commit of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCommit {
    /// Its message.
    pub message: String,
    /// The files it changed, relative to the root.
    pub files: Vec<String>,
}

/// What is kept of past commits, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct History {
    /// The commit up to which it is known.
    pub(crate) head: String,
    /// The paths that commits name.
    pub(crate) paths: Vec<String>,
    /// For each commit the places of its files among the paths.
    pub(crate) files: Vec<Vec<u32>>,
    /// For each commit the words of its message, packed one after another.
    #[serde(with = "bytes")]
    pub(crate) bags: Vec<u8>,
}

impl History {
    /// The most commits that are kept.
    pub(crate) const MAX_COMMITS: usize = 3_000;

    /// The history of these commits, newest first, followed by what was known before.
    pub(crate) fn new(head: &str, commits: &[PastCommit], before: Option<&Self>) -> Self {
        let mut history = Self {
            head: head.to_owned(),
            ..Self::default()
        };
        let mut places = HashMap::new();
        let mut bag = BagBuilder::default();
        for commit in commits {
            if history.files.len() >= Self::MAX_COMMITS {
                break;
            }
            if commit.files.is_empty() || commit.files.len() > MAX_COMMIT_FILES {
                continue;
            }
            let message = commit.message.as_bytes();
            for_each_word(&message[..message.len().min(MESSAGE_BYTES)], |word, _| {
                bag.add(word)
            });
            bag.pack(&mut history.bags);
            let files = commit.files.iter().map(String::as_str);
            history.push(files, &mut places);
        }
        if let Some(before) = before {
            history.append(before, &mut places);
        }
        history
    }

    fn append<'a>(&mut self, before: &'a Self, places: &mut HashMap<&'a str, u32>) {
        let mut rest = before.bags.as_slice();
        for files in &before.files {
            let Some((_, after)) = crate::bag::Bag::first(rest) else {
                return;
            };
            if self.files.len() >= Self::MAX_COMMITS {
                return;
            }
            self.bags.extend(&rest[..rest.len() - after.len()]);
            rest = after;
            let paths = files.iter().filter_map(|at| before.paths.get(*at as usize));
            self.push(paths.map(String::as_str), places);
        }
    }

    fn push<'a>(
        &mut self,
        files: impl Iterator<Item = &'a str>,
        places: &mut HashMap<&'a str, u32>,
    ) {
        let places = files.map(|path| {
            *places.entry(path).or_insert_with(|| {
                self.paths.push(path.to_owned());
                self.paths.len() as u32 - 1
            })
        });
        let files = places.collect();
        self.files.push(files);
    }
}

/// Bytes as bytes, not as a list of numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(from).map(<[u8]>::to_vec)
    }
}
