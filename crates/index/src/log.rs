//! Reads the output of `git log`. The caller runs git.

use std::collections::HashMap;

use crate::history::PastCommit;

/// Marks in git's output: before a commit, and after its message.
const COMMIT: char = '\u{1}';
const MESSAGE_END: char = '\u{2}';

/// The options of `git log` for [`parse_log`]. Git's own search for renames reads the contents of files; the ids of
/// the contents suffice here.
pub const LOG_OPTIONS: &[&str] = &[
    "-z",
    "--no-merges",
    "--no-renames",
    "--no-show-signature",
    "--raw",
    "--abbrev=16",
    "--relative",
    "--format=\u{1}%B\u{2}",
];

/// Parses the output of `git log` with [`LOG_OPTIONS`]: for each commit a mark, the message, a mark, then for each
/// file its status and its path, each followed by a NUL.
pub fn parse_log(log: &str) -> Vec<PastCommit> {
    let commit = |text: &str| {
        let (message, changes) = text.split_once(MESSAGE_END)?;
        let changes = parse_changes(changes);
        Some(PastCommit {
            message: message.to_owned(),
            files: changes
                .iter()
                .map(|change| change.path.to_owned())
                .collect(),
            renames: renames(&changes),
        })
    };
    log.split(COMMIT).skip(1).filter_map(commit).collect()
}

/// A change of one file.
struct RawChange<'a> {
    path: &'a str,
    /// The content before the change, if there was a file, and after it.
    before: Option<&'a str>,
    after: Option<&'a str>,
}

/// Parses `:<mode> <mode> <id> <id> <status>` and the path after it, for each file.
fn parse_changes(changes: &str) -> Vec<RawChange<'_>> {
    let mut fields = changes.split('\0').map(|field| field.trim_matches('\n'));
    let mut parsed = Vec::new();
    while let Some(field) = fields.next() {
        let Some(status) = field.strip_prefix(':') else {
            continue;
        };
        let (mut status, Some(path)) = (status.split(' ').skip(2), fields.next()) else {
            break;
        };
        let mut id = || {
            status
                .next()
                .filter(|id| id.bytes().any(|byte| byte != b'0'))
        };
        let (before, after) = (id(), id());
        parsed.push(RawChange {
            path,
            before,
            after,
        });
    }
    parsed
}

/// Returns the deleted files that have the content of an added one, or that share a base name with exactly one.
fn renames(changes: &[RawChange<'_>]) -> Vec<(String, String)> {
    let added: Vec<_> = changes
        .iter()
        .filter(|change| change.before.is_none())
        .collect();
    let deleted: Vec<_> = changes
        .iter()
        .filter(|change| change.after.is_none())
        .collect();
    if added.is_empty() || deleted.is_empty() {
        return Vec::new();
    }
    let by_content: HashMap<_, _> = added
        .iter()
        .map(|change| (change.after, change.path))
        .collect();
    let (added, gone) = (by_name(&added), by_name(&deleted));
    let later_path = |change: &RawChange<'_>| {
        by_content.get(&change.before).copied().or_else(|| {
            let name = base_name(change.path);
            let is_unique = gone.get(name).is_some_and(Option::is_some);
            added.get(name).copied().flatten().filter(|_| is_unique)
        })
    };
    let rename =
        |change: &&RawChange<'_>| Some((change.path.to_owned(), later_path(change)?.to_owned()));
    deleted.iter().filter_map(rename).collect()
}

/// Returns the path with each base name, or `None` if several have it.
fn by_name<'a>(changes: &[&RawChange<'a>]) -> HashMap<&'a str, Option<&'a str>> {
    let mut paths = HashMap::new();
    for change in changes {
        let path = paths.entry(base_name(change.path));
        path.and_modify(|path| *path = None)
            .or_insert(Some(change.path));
    }
    paths
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: &str = ":100644 100644";

    #[test]
    fn log_is_parsed_into_messages_and_paths() {
        let log = format!(
            "\u{1}One\n\nWhy.\n\u{2}\0\n{MODES} aa bb M\0a.rs\0{MODES} cc dd M\0src/b c.rs\0\0\u{1}Empty\n\u{2}\0"
        );
        let commits = parse_log(&log);
        assert_eq!(commits[0].message, "One\n\nWhy.\n");
        assert_eq!(commits[0].files, ["a.rs", "src/b c.rs"]);
        assert_eq!(commits[0].renames, []);
        assert_eq!(commits[1].files, Vec::<String>::new());
        assert_eq!(parse_log("no commit at all"), []);
    }

    #[test]
    fn renames_are_found_by_content_and_by_unique_name() {
        let log = format!(
            "\u{1}Move\n\u{2}\0\n{MODES} aa 00 D\0old.rs\0{MODES} 00 aa A\0new.rs\0\
             {MODES} bb 00 D\0a/same.rs\0{MODES} 00 cc A\0b/same.rs\0\
             {MODES} dd 00 D\0a/mod.rs\0{MODES} 00 ee A\0b/mod.rs\0{MODES} 00 ff A\0c/mod.rs\0\
             {MODES} 11 22 M\0changed.rs\0"
        );
        let renames = parse_log(&log).remove(0).renames;
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        let expected = [pair("old.rs", "new.rs"), pair("a/same.rs", "b/same.rs")];
        assert_eq!(renames, expected);
    }
}
