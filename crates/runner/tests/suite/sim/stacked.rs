//! The bases of the simulated repository: what a commit contains, and which changes conflict.

use std::collections::BTreeSet;

use windlass_tasks::{BaseConflict, BasePart, BaseRequest, ConflictingFile, TaskId};

use super::repo::Repo;

/// The base of a simulated clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimBase {
    pub(crate) commit: String,
    pub(crate) parts: Vec<BasePart>,
    /// Every commit that it contains.
    pub(crate) contents: BTreeSet<String>,
    pub(crate) has_conflict: bool,
}

impl SimBase {
    pub(crate) fn plain() -> Self {
        Self {
            commit: "base".to_owned(),
            ..Self::default()
        }
    }
}

impl Repo {
    /// Makes the changes of two tasks conflict.
    pub(crate) fn add_conflict(&self, one: TaskId, other: TaskId) {
        let pair = (one.min(other), one.max(other));
        self.conflicts.lock().unwrap().insert(pair);
    }

    /// Merges the requested changes.
    pub(crate) fn stack(&self, request: &BaseRequest) -> Result<SimBase, BaseConflict> {
        let known = self.contents.lock().unwrap();
        let parts: Vec<BasePart> = request
            .changes
            .iter()
            .map(|change| change.part.clone())
            .collect();
        let contains = |part: &BasePart, commit: &String| {
            let contents = known.get(&part.commit);
            contents.is_some_and(|contents| contents.contains(commit))
        };
        let is_head = |part: &&BasePart| !parts.iter().any(|other| contains(other, &part.commit));
        let heads: Vec<&BasePart> = parts.iter().filter(is_head).collect();
        let mut has_conflict = false;
        for (at, part) in heads.iter().enumerate() {
            let conflicts = self.conflicts.lock().unwrap();
            let conflicts_with = |other: &&&BasePart| {
                let pair = (part.task.min(other.task), part.task.max(other.task));
                conflicts.contains(&pair)
            };
            let Some(with) = heads[..at].iter().find(conflicts_with) else {
                continue;
            };
            if !request.keeps_conflicts || at + 1 < heads.len() {
                return Err(BaseConflict {
                    part: (*part).clone(),
                    with: vec![(*with).clone()],
                    files: vec![ConflictingFile {
                        path: "src/lib.rs".to_owned(),
                        lines: "<<<<<<<\none\n=======\ntwo\n>>>>>>>\n".to_owned(),
                    }],
                });
            }
            has_conflict = true;
        }
        let mut contents = BTreeSet::new();
        for part in &parts {
            contents.insert(part.commit.clone());
            contents.extend(known.get(&part.commit).into_iter().flatten().cloned());
        }
        let commits: Vec<&str> = parts.iter().map(|part| part.commit.as_str()).collect();
        Ok(SimBase {
            commit: if commits.is_empty() {
                "base".to_owned()
            } else {
                format!("base with {}", commits.join(" and "))
            },
            parts,
            contents,
            has_conflict,
        })
    }
}
