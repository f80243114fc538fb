//! What an attempt did to the files: applied for a model, looked at afterwards, kept as a tree.

mod apply;
mod weakened;

use std::fs;
use std::path::Path;

use windlass_core::limits::{EVENT_BYTES, OUTPUT_BYTES};
use windlass_core::workspace::Change;

use crate::clone::OpenClone;
use crate::error::Result;
use crate::git::{Git, PrivateGitDir};

pub(crate) use apply::apply;

/// What is looked through for weakened tests.
const SEARCHED_BYTES: usize = 4 * OUTPUT_BYTES;

/// The mode under which git keeps another repository.
const GITLINK_MODE: &str = "160000";

/// Flags for every comparison: nothing is started, and nothing is guessed.
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

/// The files at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// As a tree in our own git folder.
    pub(crate) tree: String,
    /// What is different from the base.
    pub(crate) differences: Vec<FileDiff>,
}

/// What differs from the base by now.
pub(crate) async fn current_change(git: &Git, opened: &OpenClone) -> Result<Change> {
    let Snapshot { tree, differences } = snapshot(git, opened).await?;
    if differences.is_empty() {
        return Ok(Change::default());
    }
    let mut args = vec!["diff-tree", "-p", "-r"];
    args.extend(DIFF_FLAGS);
    args.extend([opened.base.as_str(), &tree]);
    let call = opened.git.command(git).max_output(SEARCHED_BYTES);
    let diff = call.run(&args).await?.stdout.text();
    Ok(Change {
        weakened_tests: weakened::find_weakened(&differences, &diff),
        files: differences.into_iter().map(|one| one.path).collect(),
        diff: truncate_middle(&diff, EVENT_BYTES),
    })
}

/// The files as they are now. What ignore files name, and what tests leave behind, is not part of it.
pub(crate) async fn snapshot(git: &Git, opened: &OpenClone) -> Result<Snapshot> {
    remove_mount_points(&opened.work);
    let own = &opened.git;
    own.command_in(git, &opened.work)
        .run(&["add", "-A"])
        .await?;
    let mut tree = own.command(git).run(&["write-tree"]).await?.text();
    let mut differences = differences(git, own, &opened.base, &tree).await?;
    // A repository inside the clone: whatever it holds is not the project's.
    let inner = |one: &FileDiff| one.old_mode == GITLINK_MODE || one.new_mode == GITLINK_MODE;
    if differences.iter().any(inner) {
        let mut lines = String::new();
        for one in differences.iter().filter(|one| inner(one)) {
            let (mode, blob, path) = (&one.old_mode, &one.old_blob, &one.path);
            lines.push_str(&format!("{mode} {blob}\t{path}\0"));
        }
        let call = own.command(git).input(lines);
        call.run(&["update-index", "-z", "--index-info"]).await?;
        tree = own.command(git).run(&["write-tree"]).await?.text();
        differences.retain(|one| !inner(one));
    }
    Ok(Snapshot { tree, differences })
}

/// The files in which two trees differ, sorted by path.
pub(crate) async fn differences(
    git: &Git,
    own: &PrivateGitDir,
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
    let said = own.command(git).run(&args).await?;
    let pieces = said.nul_separated()?;
    let mut found: Vec<FileDiff> = pieces.chunks_exact(2).filter_map(read_raw).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// One record of `--raw -z`: `:oldmode newmode oldblob newblob kind`, then the path.
fn read_raw(pair: &[String]) -> Option<FileDiff> {
    let mut words = pair[0].strip_prefix(':')?.split(' ').map(str::to_owned);
    Some(FileDiff {
        old_mode: words.next()?,
        new_mode: words.next()?,
        old_blob: words.next()?,
        new_blob: words.next()?,
        kind: words.next()?.chars().next()?,
        path: pair[1].clone(),
    })
}

/// Removes the empty folders that a sandbox leaves where it kept something from being made, if it was
/// killed before it could. Git keeps no empty folder, so nothing of a project is lost.
fn remove_mount_points(work: &Path) {
    let entries = fs::read_dir(work).into_iter().flatten().flatten();
    for entry in entries {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && entry.file_name().as_encoded_bytes().starts_with(b".") {
            // Only an empty one goes.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Head and tail of a long text, cut at line ends, with a line between that says so.
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
