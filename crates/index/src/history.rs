//! The commit history: which words occur with which files.
//!
//! Files are stored under the name that they have now: what is known about a file survives its rename.
//! This crate starts no processes; the caller runs git and passes the commits.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::bag::BagBuilder;
use crate::words::for_each_word;

/// Commits that changed more files than this are ignored: they are not about any of them.
const MAX_COMMIT_FILES: usize = 20;
/// Maximum number of bytes read from a commit message.
const MESSAGE_BYTES: usize = 4_000;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCommit {
    /// Its message.
    pub message: String,
    /// The files it changed, relative to the root.
    pub files: Vec<String>,
    /// The files it renamed: the earlier and the later path.
    pub renames: Vec<(String, String)>,
}

/// The stored part of the commit history, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct History {
    /// The paths that the commits changed.
    pub(crate) paths: Vec<String>,
    /// For each commit, the indices of its files in `paths`.
    pub(crate) files: Vec<Vec<u32>>,
    /// For each commit, the packed bag of words of its message.
    #[serde(with = "bytes")]
    pub(crate) bags: Vec<u8>,
}

impl History {
    /// Maximum number of stored commits.
    pub(crate) const MAX_COMMITS: usize = 12_000;

    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }

    /// Creates a history of these commits, newest first, followed by the earlier history.
    pub(crate) fn new(commits: &[PastCommit], before: Option<&Self>) -> Self {
        let mut history = Self::default();
        let mut indices = HashMap::new();
        let mut names = CurrentNames::default();
        let mut bag = BagBuilder::default();
        for commit in commits {
            if history.files.len() >= Self::MAX_COMMITS {
                break;
            }
            names.rename(&commit.renames);
            if commit.files.is_empty() || commit.files.len() > MAX_COMMIT_FILES {
                continue;
            }
            let message = commit.message.as_bytes();
            for_each_word(&message[..message.len().min(MESSAGE_BYTES)], |word, _| {
                bag.add(word)
            });
            bag.pack(&mut history.bags);
            let files = commit.files.iter().map(|path| names.resolve(path));
            history.push(files, &mut indices);
        }
        if let Some(before) = before {
            history.append(before, &names, &mut indices);
        }
        history
    }

    fn append<'a>(
        &mut self,
        before: &'a Self,
        names: &CurrentNames<'a>,
        indices: &mut HashMap<&'a str, u32>,
    ) {
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
            self.push(paths.map(|path| names.resolve(path)), indices);
        }
    }

    fn push<'a>(
        &mut self,
        files: impl Iterator<Item = &'a str>,
        indices: &mut HashMap<&'a str, u32>,
    ) {
        let indices = files.map(|path| {
            *indices.entry(path).or_insert_with(|| {
                self.paths.push(path.to_owned());
                self.paths.len() as u32 - 1
            })
        });
        let mut files: Vec<u32> = indices.collect();
        // A renamed file occurs twice in the commit that renamed it.
        files.sort_unstable();
        files.dedup();
        self.files.push(files);
    }
}

/// The current names of renamed files, while commits are read from the newest to the oldest.
#[derive(Debug, Default)]
struct CurrentNames<'a> {
    by_old_name: HashMap<&'a str, &'a str>,
}

impl<'a> CurrentNames<'a> {
    /// Adds the renames of a commit. They apply to this commit and to earlier ones.
    fn rename(&mut self, renames: &'a [(String, String)]) {
        for (old, new) in renames {
            let current = self.resolve(new);
            self.by_old_name.insert(old, current);
        }
    }

    fn resolve(&self, path: &'a str) -> &'a str {
        self.by_old_name.get(path).copied().unwrap_or(path)
    }
}

/// Serializes bytes as bytes, not as a list of numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(from).map(<[u8]>::to_vec)
    }
}
