//! The files of a change, with their contents before and after.

use std::collections::HashMap;

use super::roles::{FileRole, role};
use crate::change::{FileDiff, differences};
use crate::error::Result;
use crate::git::{Git, PrivateGitDir};

/// Maximum size of a file that is searched.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum size of all files that are searched.
const MAX_TOTAL_BYTES: u64 = 32 << 20;
/// The mode of a symbolic link.
const LINK_MODE: &str = "120000";

/// A file that a change adds, modifies or deletes.
#[derive(Debug)]
pub(super) struct ChangedFile {
    pub(super) diff: FileDiff,
    pub(super) role: FileRole,
    /// The text in the base. `None` if it does not exist or is too large.
    pub(super) base: Option<String>,
    /// The text in the change. `None` if it does not exist or is too large.
    pub(super) new: Option<String>,
}

impl ChangedFile {
    pub(super) fn path(&self) -> &str {
        &self.diff.path
    }

    pub(super) fn is_added(&self) -> bool {
        self.diff.kind == 'A'
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.diff.kind == 'D'
    }

    pub(super) fn is_link(&self) -> bool {
        self.diff.new_mode == LINK_MODE
    }

    /// Returns `true` if the new content was not read.
    pub(super) fn is_unread(&self) -> bool {
        !self.is_deleted() && self.new.is_none()
    }

    /// Returns the lines of the change that the base does not have.
    pub(super) fn added_lines(&self) -> Vec<&str> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for line in self.base.as_deref().unwrap_or_default().lines() {
            *counts.entry(line.trim()).or_default() += 1;
        }
        let lines = self.new.as_deref().unwrap_or_default().lines();
        lines
            .map(str::trim)
            .filter(|line| match counts.get_mut(line) {
                Some(left @ 1..) => {
                    *left -= 1;
                    false
                }
                _ => !line.is_empty(),
            })
            .collect()
    }
}

/// Returns the files that differ between two trees.
pub(super) async fn changed_files(
    git: &Git,
    private_git: &PrivateGitDir,
    (base, tree): (&str, &str),
    command: &[String],
) -> Result<Vec<ChangedFile>> {
    let differences = differences(git, private_git, base, tree).await?;
    let blobs = differences
        .iter()
        .flat_map(|diff| [&diff.old_blob, &diff.new_blob])
        .filter(|blob| blob.bytes().any(|byte| byte != b'0'));
    let texts = read_blobs(git, private_git, blobs).await?;
    let text = |blob: &str| texts.get(blob).cloned();
    let files = differences.into_iter().map(|diff| ChangedFile {
        role: role(&diff.path, command),
        base: text(&diff.old_blob),
        new: text(&diff.new_blob),
        diff,
    });
    Ok(files.collect())
}

/// Prints the blobs of the input that are not too large, as `cat-file --batch` does.
const BLOBS_SCRIPT: &str = r#"
sizes=$(git "$@" cat-file '--batch-check=%(objectname) %(objecttype) %(objectsize)') || exit
printf '%s\n' "$sizes" | {
    total=0
    while read -r name kind size; do
        if [ "$kind" = blob ] && [ "$size" -le "$max_file" ] && [ $((total + size)) -le "$max_total" ]; then
            total=$((total + size))
            echo "$name"
        fi
    done
} | git "$@" cat-file --batch
"#;

/// Returns the texts of the blobs that are not too large.
async fn read_blobs<'b>(
    git: &Git,
    private_git: &PrivateGitDir,
    blobs: impl Iterator<Item = &'b String>,
) -> Result<HashMap<String, String>> {
    let names: String = blobs.map(|blob| format!("{blob}\n")).collect();
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    // Most changes are small: one program reads them. What is cut off was too large.
    let command = private_git.command(git).input(names.clone());
    let limit = MAX_FILE_BYTES as usize;
    let output = command.max_output(limit).run(&["cat-file", "--batch"]);
    let output = output.await?;
    if !output.stdout.is_truncated() {
        return Ok(read_batch(output.stdout.bytes()));
    }
    let command = private_git.command(git).input(names);
    let output = command
        .variable("max_file", MAX_FILE_BYTES.to_string())
        .variable("max_total", MAX_TOTAL_BYTES.to_string())
        .max_output(2 * MAX_TOTAL_BYTES as usize)
        .script("cat-file", BLOBS_SCRIPT)
        .await?
        .check()?;
    Ok(read_batch(output.stdout.bytes()))
}

/// Parses the output of `cat-file --batch`: a header with the kind and the size, the content, a newline. What is not a
/// blob, such as the commit of a submodule, is skipped.
fn read_batch(mut bytes: &[u8]) -> HashMap<String, String> {
    let mut texts = HashMap::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let header = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes = &bytes[end + 1..];
        let mut fields = header.split(' ');
        let (name, kind) = (fields.next(), fields.next());
        if kind == Some("missing") {
            continue;
        }
        let size = fields.next().and_then(|size| size.parse::<usize>().ok());
        let (Some(name), Some(size)) = (name, size) else {
            break;
        };
        let Some(content) = bytes.get(..size) else {
            break;
        };
        if kind == Some("blob") {
            texts.insert(
                name.to_owned(),
                String::from_utf8_lossy(content).into_owned(),
            );
        }
        bytes = bytes.get(size + 1..).unwrap_or_default();
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_is_split_by_size() {
        let texts = read_batch(
            b"aa blob 3\na\nb\ndd missing\nbb blob 0\n\nee commit 2\n\n\n\ncc blob 1\nx\n",
        );
        assert_eq!(texts.len(), 3);
        assert_eq!(texts["aa"], "a\nb");
        assert_eq!(texts["bb"], "");
        assert_eq!(texts["cc"], "x");
    }
}
