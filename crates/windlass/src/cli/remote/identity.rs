//! What identifies a repository on every machine: its root commits.

use std::path::Path;

use super::super::publish::UserGit;

/// Returns the root commits of the history of HEAD, oldest first. Empty if there is no commit, or if the history is
/// shallow and its roots are not known.
pub(in crate::cli) async fn roots(dir: &Path) -> Vec<String> {
    let git = UserGit::without_hooks(dir).await;
    let shallow = git.text(&["rev-parse", "--is-shallow-repository"]).await;
    if shallow.as_deref() != Some("false") {
        return Vec::new();
    }
    let args = [
        "rev-list",
        "--max-parents=0",
        "--format=%ct %H",
        "--no-commit-header",
        "HEAD",
    ];
    let text = git.text(&args).await.unwrap_or_default();
    let mut roots: Vec<(u64, &str)> = text
        .lines()
        .filter_map(|line| {
            let (time, commit) = line.split_once(' ')?;
            Some((time.parse().ok()?, commit))
        })
        .collect();
    roots.sort_unstable();
    roots
        .into_iter()
        .map(|(_, commit)| commit.to_owned())
        .collect()
}

/// Returns the oldest root commit of the history of HEAD.
pub(in crate::cli) async fn oldest_root(dir: &Path) -> Option<String> {
    roots(dir).await.into_iter().next()
}
