//! The change of an attempt: applying a model's files, comparing with the base, and snapshots as
//! trees.

mod apply;
mod weakened;

use std::fs;
use std::path::Path;

use windlass_core::limits::{EVENT_BYTES, OUTPUT_BYTES};
use windlass_tasks::{Change, Commit};

use crate::clone::{OpenClone, copied_files};
use crate::error::Result;
use crate::git::{GITLINK_MODE, Git, PrivateGitDir, TreeDiff};

pub(crate) use apply::apply;
pub use weakened::is_test_file;

/// Maximum size of the diff that is searched for weakened tests.
const MAX_SEARCHED_BYTES: usize = 4 * OUTPUT_BYTES;

/// Flags for every comparison: no program is started, and no rename is guessed.
pub(crate) const DIFF_FLAGS: [&str; 5] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-color",
    "--ignore-submodules=all",
];

/// Writes the current files as a tree.
const ADD_SCRIPT: &str = r#"git "$@" add -A && exec git "$@" write-tree"#;

/// Writes the current files as a tree, except those of the input.
const ADD_EXCEPT_SCRIPT: &str = r#"
git "$@" add -A && git "$@" update-index -z --index-info && exec git "$@" write-tree
"#;

/// Commits a tree, and compares it with the base. Git separates the raw differences from the patch by an empty field.
const COMMIT_SCRIPT: &str = r#"
flags='--no-ext-diff --no-textconv --no-renames --no-color'
git "$@" commit-tree -p "$base" -F - "$tree" &&
exec git "$@" diff-tree -r -z --raw -p --no-abbrev $flags "$base" "$tree"
"#;

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    pub(crate) path: String,
    /// `A`, `M`, `D` or `T`.
    pub(crate) kind: char,
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) old_blob: String,
    pub(crate) new_blob: String,
}

impl FileDiff {
    /// Returns `true` if it is a repository inside the clone.
    fn is_gitlink(&self) -> bool {
        self.old_mode == GITLINK_MODE || self.new_mode == GITLINK_MODE
    }
}

/// The files of a clone at one point in time.
#[derive(Debug)]
pub(crate) struct CloneSnapshot {
    /// The tree in the private git directory.
    pub(crate) tree: String,
    /// The differences from the base.
    pub(crate) differences: Vec<FileDiff>,
}

/// Returns what differs from the base now.
pub(crate) async fn current_change(git: &Git, clone: &OpenClone) -> Result<Change> {
    let CloneSnapshot { tree, .. } = snapshot(git, clone).await?;
    change_to(git, clone, &tree).await
}

/// Returns what differs between the base and a tree.
pub(crate) async fn change_to(git: &Git, clone: &OpenClone, tree: &str) -> Result<Change> {
    let differences = differences(git, &clone.git, &clone.base, tree).await?;
    if differences.is_empty() {
        return Ok(Change::default());
    }
    let diff = match git.known().diff(&clone.base, tree) {
        Some(known) => known.patch.clone(),
        None => {
            let mut args = vec!["diff-tree", "-p", "-r"];
            args.extend(DIFF_FLAGS);
            args.extend([clone.base.as_str(), tree]);
            let command = clone.git.command(git).max_output(MAX_SEARCHED_BYTES);
            command.run(&args).await?.stdout.text()
        }
    };
    Ok(Change {
        lines: changed_lines(&diff),
        weakened_tests: weakened::find_weakened(&differences, &diff),
        files: differences.into_iter().map(|diff| diff.path).collect(),
        diff: truncate_middle(&diff, EVENT_BYTES),
    })
}

/// Counts the added and removed lines of a diff.
fn changed_lines(diff: &str) -> u64 {
    let mut in_hunk = false;
    let mut count = 0;
    for line in diff.lines() {
        if line.starts_with("diff --git ") {
            in_hunk = false;
        } else if line.starts_with("@@ ") {
            in_hunk = true;
        } else if in_hunk && line.starts_with(['+', '-']) {
            count += 1;
        }
    }
    count
}

/// Commits the current files onto the base, unless they are those of the commit `last`. They exclude ignored
/// files and artifacts of tests.
pub(crate) async fn commit_files(
    git: &Git,
    clone: &OpenClone,
    message: &str,
    last: Option<&Commit>,
) -> Result<Commit> {
    let index = clone.git.index();
    let tree = write_tree(git, clone, &index).await?;
    if let Some(last) = last.filter(|last| last.tree == tree) {
        return Ok(last.clone());
    }
    let (id, diff) = commit_tree(git, clone, message, &tree).await?;
    let found = match diff {
        Some(diff) => diff,
        None => differences(git, &clone.git, &clone.base, &tree).await?,
    };
    if found.is_empty() {
        let id = clone.base.clone();
        return Ok(Commit { id, tree });
    }
    if !found.iter().any(FileDiff::is_gitlink) {
        return Ok(Commit { id, tree });
    }
    let tree = restore_gitlinks(git, clone, &index, &found).await?;
    if found.iter().all(FileDiff::is_gitlink) {
        let id = clone.base.clone();
        return Ok(Commit { id, tree });
    }
    let (id, _) = commit_tree(git, clone, message, &tree).await?;
    Ok(Commit { id, tree })
}

/// Commits a tree onto the base in the private git directory, and returns what differs if it is not too much.
///
/// Not in the sandbox of [`write_tree`]: the files of the clone must have no influence on what is reported about a tree.
async fn commit_tree(
    git: &Git,
    clone: &OpenClone,
    message: &str,
    tree: &str,
) -> Result<(String, Option<Vec<FileDiff>>)> {
    let command = clone.git.command(git).input(message);
    let command = command
        .variable("base", &clone.base)
        .variable("tree", tree)
        .max_output(MAX_SEARCHED_BYTES);
    let output = command
        .script("commit-tree", COMMIT_SCRIPT)
        .await?
        .check()?;
    let text = output.stdout.text();
    let (id, rest) = text.split_once('\n').unwrap_or((&text, ""));
    if output.stdout.is_truncated() {
        return Ok((id.to_owned(), None));
    }
    // The last record ends with NUL, and so does the empty field.
    let (raw, patch) = match rest.strip_prefix('\0') {
        Some(patch) => ("", patch),
        None => rest.split_once("\0\0").unwrap_or((rest, "")),
    };
    let raw = raw.split('\0').filter(|field| !field.is_empty());
    let diff = TreeDiff {
        raw: raw.map(str::to_owned).collect(),
        patch: patch.to_owned(),
    };
    let found = read_fields(&diff.raw);
    // The patch of a repository inside the clone is not part of a change.
    if !found.iter().any(FileDiff::is_gitlink) {
        git.known().add_diff(&clone.base, tree, diff);
    }
    Ok((id.to_owned(), Some(found)))
}

/// Returns a snapshot of the current files. It excludes ignored files and artifacts of tests.
pub(crate) async fn snapshot(git: &Git, clone: &OpenClone) -> Result<CloneSnapshot> {
    snapshot_in(git, clone, &clone.git.index()).await
}

/// Returns a snapshot of the current files that is made in this index.
pub(crate) async fn snapshot_in(
    git: &Git,
    clone: &OpenClone,
    index: &Path,
) -> Result<CloneSnapshot> {
    let mut tree = write_tree(git, clone, index).await?;
    let mut differences = differences(git, &clone.git, &clone.base, &tree).await?;
    if differences.iter().any(FileDiff::is_gitlink) {
        tree = restore_gitlinks(git, clone, index, &differences).await?;
        differences.retain(|diff| !diff.is_gitlink());
    }
    Ok(CloneSnapshot { tree, differences })
}

/// Writes the current files of a clone as a tree. The files decide what git reads here, so it is sandboxed.
async fn write_tree(git: &Git, clone: &OpenClone, index: &Path) -> Result<String> {
    remove_mount_points(&clone.work);
    let command = clone.git.command_in(git, &clone.work).index(index);
    // Ignore files, which are part of the change, could include them.
    let copied = copied_files(&clone.work);
    let output = if copied.is_empty() {
        command.script("add", ADD_SCRIPT).await?
    } else {
        // Mode 0 removes an entry.
        let id = "0".repeat(clone.base.len());
        let lines = copied.iter().map(|path| format!("0 {id}\t{path}\0"));
        let command = command.input(lines.collect::<String>());
        command.script("add", ADD_EXCEPT_SCRIPT).await?
    };
    Ok(output.check()?.text())
}

/// Restores what the base has instead of repositories inside the clone: their content is not part of the project.
async fn restore_gitlinks(
    git: &Git,
    clone: &OpenClone,
    index: &Path,
    differences: &[FileDiff],
) -> Result<String> {
    let mut lines = String::new();
    for diff in differences.iter().filter(|diff| diff.is_gitlink()) {
        let (mode, blob, path) = (&diff.old_mode, &diff.old_blob, &diff.path);
        lines.push_str(&format!("{mode} {blob}\t{path}\0"));
    }
    let command = || clone.git.command(git).index(index);
    command()
        .input(lines)
        .run(&["update-index", "-z", "--index-info"])
        .await?;
    Ok(command().run(&["write-tree"]).await?.text())
}

/// Returns the files that differ between two trees, sorted by path.
pub(crate) async fn differences(
    git: &Git,
    private_git: &PrivateGitDir,
    old: &str,
    new: &str,
) -> Result<Vec<FileDiff>> {
    if let Some(known) = git.known().diff(old, new) {
        return Ok(read_fields(&known.raw));
    }
    let mut args = vec!["diff-tree", "-r", "-z", "--raw", "--no-abbrev"];
    args.extend(
        DIFF_FLAGS
            .iter()
            .filter(|flag| !flag.starts_with("--ignore")),
    );
    args.extend([old, new]);
    let output = private_git.command(git).run(&args).await?;
    Ok(read_fields(&output.nul_separated()?))
}

/// Parses the fields of `--raw -z`.
fn read_fields(fields: &[String]) -> Vec<FileDiff> {
    let mut diffs: Vec<FileDiff> = fields.chunks_exact(2).filter_map(read_raw).collect();
    diffs.sort_by(|a, b| a.path.cmp(&b.path));
    diffs
}

/// Parses one record of `--raw -z`: `:oldmode newmode oldblob newblob kind`, then the path.
fn read_raw(pair: &[String]) -> Option<FileDiff> {
    let mut fields = pair[0].strip_prefix(':')?.split(' ').map(str::to_owned);
    Some(FileDiff {
        old_mode: fields.next()?,
        new_mode: fields.next()?,
        old_blob: fields.next()?,
        new_blob: fields.next()?,
        kind: fields.next()?.chars().next()?,
        path: pair[1].clone(),
    })
}

/// Removes empty directories that a killed sandbox left as mount points. Git does not store empty
/// directories, so no project content is lost.
fn remove_mount_points(work: &Path) {
    let entries = fs::read_dir(work).into_iter().flatten().flatten();
    for entry in entries {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && entry.file_name().as_encoded_bytes().starts_with(b".") {
            // Fails unless the directory is empty.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Shortens a long text to its head and tail, both whole lines, with a marker line in between.
pub(crate) fn truncate_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let head = text[..head].rfind('\n').map_or(head, |at| at + 1);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    let tail = text[tail..].find('\n').map_or(tail, |at| tail + at + 1);
    let cut = tail - head;
    format!("{}[… {cut} bytes cut …]\n{}", &text[..head], &text[tail..])
}
