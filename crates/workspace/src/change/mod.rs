//! The change of an attempt: applying a model's files, comparing with the base, and snapshots as
//! trees.

mod apply;
mod weakened;

use std::fs;
use std::path::Path;

use windlass_core::limits::{EVENT_BYTES, OUTPUT_BYTES};
use windlass_tasks::Change;

use crate::clone::{OpenClone, copied_files};
use crate::error::Result;
use crate::git::{GITLINK_MODE, Git, PrivateGitDir};

pub(crate) use apply::apply;
pub(crate) use weakened::is_test_file;

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
    let mut args = vec!["diff-tree", "-p", "-r"];
    args.extend(DIFF_FLAGS);
    args.extend([clone.base.as_str(), tree]);
    let command = clone.git.command(git).max_output(MAX_SEARCHED_BYTES);
    let diff = command.run(&args).await?.stdout.text();
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
    remove_mount_points(&clone.work);
    let private_git = &clone.git;
    private_git
        .command_in(git, &clone.work)
        .index(index)
        .run(&["add", "-A"])
        .await?;
    let command = || private_git.command(git).index(index);
    // Ignore files, which are part of the change, could include them.
    let copied = copied_files(&clone.work);
    if !copied.is_empty() {
        // Mode 0 removes an entry.
        let id = "0".repeat(clone.base.len());
        let lines: String = copied
            .iter()
            .map(|path| format!("0 {id}\t{path}\0"))
            .collect();
        command()
            .input(lines)
            .run(&["update-index", "-z", "--index-info"])
            .await?;
    }
    let mut tree = command().run(&["write-tree"]).await?.text();
    let mut differences = differences(git, private_git, &clone.base, &tree).await?;
    // A repository inside the clone: its content is not part of the project.
    let is_gitlink =
        |diff: &FileDiff| diff.old_mode == GITLINK_MODE || diff.new_mode == GITLINK_MODE;
    if differences.iter().any(is_gitlink) {
        let mut lines = String::new();
        for diff in differences.iter().filter(|diff| is_gitlink(diff)) {
            let (mode, blob, path) = (&diff.old_mode, &diff.old_blob, &diff.path);
            lines.push_str(&format!("{mode} {blob}\t{path}\0"));
        }
        command()
            .input(lines)
            .run(&["update-index", "-z", "--index-info"])
            .await?;
        tree = command().run(&["write-tree"]).await?.text();
        differences.retain(|diff| !is_gitlink(diff));
    }
    Ok(CloneSnapshot { tree, differences })
}

/// Returns the files that differ between two trees, sorted by path.
pub(crate) async fn differences(
    git: &Git,
    private_git: &PrivateGitDir,
    old: &str,
    new: &str,
) -> Result<Vec<FileDiff>> {
    let mut args = vec!["diff-tree", "-r", "-z", "--raw", "--no-abbrev"];
    args.extend(
        DIFF_FLAGS
            .iter()
            .filter(|flag| !flag.starts_with("--ignore")),
    );
    args.extend([old, new]);
    let output = private_git.command(git).run(&args).await?;
    let fields = output.nul_separated()?;
    let mut diffs: Vec<FileDiff> = fields.chunks_exact(2).filter_map(read_raw).collect();
    diffs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(diffs)
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
