//! What git has reported about objects. An object never changes, so an answer stays true: it is
//! reused instead of starting git again for the same question.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::is_hash;

/// How many answers of each kind are kept: more than one attempt needs.
const MAX_ANSWERS: usize = 32;
/// Answers that are longer are not kept.
const MAX_ANSWER_BYTES: usize = 256 << 10;

/// The differences between two trees.
#[derive(Debug)]
pub(crate) struct TreeDiff {
    /// The fields of `diff-tree --raw -z`.
    pub(crate) raw: Vec<String>,
    /// The patch.
    pub(crate) patch: String,
}

impl TreeDiff {
    /// Returns the number of files that differ.
    pub(crate) fn files(&self) -> usize {
        self.raw.len() / 2
    }
}

/// Answers of git, by the hashes in the question.
#[derive(Debug, Default)]
pub(crate) struct KnownObjects {
    trees: Answers<String>,
    diffs: Answers<Arc<TreeDiff>>,
}

impl KnownObjects {
    /// Returns the tree of a commit.
    pub(crate) fn tree(&self, commit: &str) -> Option<String> {
        self.trees.get(commit)
    }

    pub(crate) fn add_tree(&self, commit: &str, tree: &str) {
        if is_hash(commit) && is_hash(tree) {
            self.trees.add(commit.to_owned(), tree.to_owned());
        }
    }

    /// Returns the differences between two trees or commits.
    pub(crate) fn diff(&self, old: &str, new: &str) -> Option<Arc<TreeDiff>> {
        self.diffs.get(&format!("{old} {new}"))
    }

    pub(crate) fn add_diff(&self, old: &str, new: &str, diff: TreeDiff) {
        let bytes = diff.patch.len() + diff.raw.iter().map(String::len).sum::<usize>();
        if is_hash(old) && is_hash(new) && bytes <= MAX_ANSWER_BYTES {
            self.diffs.add(format!("{old} {new}"), Arc::new(diff));
        }
    }
}

/// The newest answers of one kind.
#[derive(Debug)]
struct Answers<T>(Mutex<VecDeque<(String, T)>>);

impl<T> Default for Answers<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Answers<T> {
    fn get(&self, question: &str) -> Option<T> {
        let answers = self.0.lock();
        let mut found = answers.iter().filter(|(known, _)| known == question);
        found.next().map(|(_, answer)| answer.clone())
    }

    fn add(&self, question: String, answer: T) {
        let mut answers = self.0.lock();
        answers.retain(|(known, _)| *known != question);
        answers.push_front((question, answer));
        answers.truncate(MAX_ANSWERS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: usize) -> String {
        format!("{number:040x}")
    }

    #[test]
    fn newest_answers_are_kept() {
        let known = KnownObjects::default();
        for number in 0..=MAX_ANSWERS {
            known.add_tree(&hash(number), &hash(number + 1));
        }
        assert_eq!(known.tree(&hash(0)), None);
        assert_eq!(known.tree(&hash(1)), Some(hash(2)));
        assert_eq!(known.tree(&hash(MAX_ANSWERS)), Some(hash(MAX_ANSWERS + 1)));
    }

    #[test]
    fn only_answers_about_hashes_are_kept() {
        let known = KnownObjects::default();
        known.add_tree("HEAD", &hash(1));
        assert_eq!(known.tree("HEAD"), None);
        let diff = |patch: String| TreeDiff {
            raw: Vec::new(),
            patch,
        };
        known.add_diff(&hash(1), "main", diff(String::new()));
        assert!(known.diff(&hash(1), "main").is_none());
        known.add_diff(&hash(1), &hash(2), diff("x".repeat(MAX_ANSWER_BYTES + 1)));
        assert!(known.diff(&hash(1), &hash(2)).is_none());
        known.add_diff(&hash(1), &hash(2), diff("x".into()));
        assert_eq!(known.diff(&hash(1), &hash(2)).unwrap().patch, "x");
    }
}
