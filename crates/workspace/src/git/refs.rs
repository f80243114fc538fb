//! Reads refs directly from their files where possible. Running git needs a sandboxed process.
//!
//! Anything unusual, such as another format of refs, returns no result here; the caller then runs
//! git.

use std::io::Read;
use std::path::Path;

use super::small_file::small_file;
use crate::error::{Error, Result};

/// Maximum size of a packed-refs file that is read. A finished task adds about 200 bytes.
const MAX_PACKED_REFS_BYTES: u64 = 64 << 20;

/// Returns the commit that is checked out in the work tree with this git directory.
pub(super) fn head(git_dir: &Path, common: &Path) -> Option<String> {
    let head = small_file(&git_dir.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return commit(&head);
    };
    // Branches are shared by all work trees, and the check excludes names that lead other_ref.
    check_branch(name.strip_prefix("refs/heads/")?).ok()?;
    match small_file(&common.join(name)) {
        Some(loose) => commit(&loose),
        None => {
            let packed = packed(common)?;
            let mut rows = packed.lines().filter_map(|line| line.split_once(' '));
            commit(rows.find(|(_, found)| *found == name)?.0)
        }
    }
}

/// Returns `true` if there is certainly no tag.
pub(crate) fn has_no_tags(common: &Path) -> bool {
    let loose = std::fs::read_dir(common.join("refs/tags"));
    let no_loose = loose.is_ok_and(|mut tags| tags.next().is_none());
    no_loose
        && !common.join("reftable").exists()
        && packed(common).is_some_and(|packed| !packed.contains(" refs/tags/"))
}

/// Returns the packed-refs file: an empty string if it is missing, `None` if it is too long.
fn packed(common: &Path) -> Option<String> {
    let file = match std::fs::File::open(common.join("packed-refs")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(String::new()),
        file => file.ok()?,
    };
    let mut text = String::new();
    let read = file
        .take(MAX_PACKED_REFS_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    (u64::try_from(read).ok()? < MAX_PACKED_REFS_BYTES).then_some(text)
}

/// Returns the text if it is exactly one hash.
fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    is_hash(text).then(|| text.to_owned())
}

/// Returns `true` if the text is a full hash.
pub(crate) fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Rejects names that git rejects, and names that could be taken for something else.
pub(crate) fn check_branch(branch: &str) -> Result<()> {
    let is_allowed =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '#');
    let is_valid_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let is_valid = branch.len() <= 200
        && branch.chars().all(is_allowed)
        && !branch.starts_with('-')
        && !branch.contains("..")
        && branch.split('/').all(is_valid_part);
    if is_valid {
        return Ok(());
    }
    Err(Error::branch(branch, "invalid branch name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn git_dir(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(dir.path().join("refs/tags")).unwrap();
        dir
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let dir = git_dir(files);
        assert_eq!(head(dir.path(), dir.path()).as_deref(), expected);
    }

    #[test]
    fn head_is_read_from_loose_and_packed_refs() {
        let on_main = ("HEAD", "ref: refs/heads/main\n");
        let loose = (
            "refs/heads/main",
            "1111111111111111111111111111111111111111\n",
        );
        let list =
            format!("# pack-refs with: peeled\n{ONE} refs/heads/mai\n{TWO} refs/heads/main\n");
        check(&[on_main, loose], Some(ONE));
        check(&[on_main, ("packed-refs", &list)], Some(TWO));
        check(&[on_main, loose, ("packed-refs", &list)], Some(ONE));
        check(&[("HEAD", TWO)], Some(TWO));
    }

    #[test]
    fn p20_unusual_refs_are_left_to_git() {
        let other_ref = ("refs/secret", ONE);
        for head in [
            "ref: refs/heads/main\n",
            "ref: refs/heads/.invalid\n",
            "ref: refs/heads/../secret\n",
            "ref: refs/secret\n",
            "ref: /etc/hostname\n",
            "1111\n",
            "",
        ] {
            check(&[("HEAD", head), other_ref], None);
        }
        let link = ("refs/heads/main", "ref: refs/heads/other\n");
        check(&[("HEAD", "ref: refs/heads/main\n"), link], None);
    }

    #[test]
    fn absence_of_tags_is_reported_only_if_certain() {
        let head = ("HEAD", "ref: refs/heads/main\n");
        let tags = |files: &[(&str, &str)]| {
            let dir = git_dir(files);
            !has_no_tags(dir.path())
        };
        assert!(!tags(&[head]));
        assert!(!tags(&[head, ("packed-refs", "# x\n")]));
        assert!(tags(&[head, ("refs/tags/a/b", ONE)]));
        let list = format!("{ONE} refs/tags/v1\n");
        assert!(tags(&[head, ("packed-refs", &list)]));
        assert!(tags(&[head, ("reftable/tables.list", "")]));
    }

    #[test]
    fn p21_branch_names_are_never_flags_or_expressions() {
        for bad in [
            "", "-f", "a..b", "a b", "a~1", "a:b", "@{u}", "a/", "/a", "a//b", "a.lock", ".a",
            "a\0", "a\n",
        ] {
            assert!(check_branch(bad).is_err(), "{bad:?}");
        }
        for good in ["windlass/task-7", "main", "feature/ä", "v1.2"] {
            check_branch(good).unwrap();
        }
    }
}
