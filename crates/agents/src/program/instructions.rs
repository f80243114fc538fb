//! A project's instructions for agents, passed as plain text.
//!
//! An agent that reads a project's instructions on its own also applies the rest of the project's settings, and
//! those may start programs. So agents cannot read either, and get the text of the instructions
//! instead.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of the text, for all files together.
const MAX_BYTES: usize = 32 << 10;

/// Returns the text of the files with these names, from the top of the work tree down to `cwd`, or `None` if
/// no such file exists.
pub(crate) fn read(cwd: &Path, names: &[&str]) -> Option<String> {
    let cwd = cwd.canonicalize().ok()?;
    let top = cwd.ancestors().find(|above| above.join(".git").exists());
    let top = top.unwrap_or(&cwd);
    let mut dirs: Vec<&Path> = cwd
        .ancestors()
        .take_while(|dir| dir.starts_with(top))
        .collect();
    dirs.reverse();
    let mut all = String::new();
    for dir in dirs {
        for path in names.iter().map(|name| dir.join(name)) {
            if let Some(text) = inside(&path, top).and_then(|file| read_file(&file)) {
                let shown = path.strip_prefix(top).unwrap_or(&path).display();
                all.push_str(&format!("## From {shown}\n\n{}\n\n", text.trim()));
            }
        }
    }
    let all = truncate(all.trim_end());
    (!all.is_empty()).then(|| format!("# Project instructions for agents\n\n{all}"))
}

/// Resolves a path, and returns `None` if it leads outside the project: a symlink could point to a secret.
fn inside(path: &Path, top: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    (real.starts_with(top) && real.is_file()).then_some(real)
}

fn read_file(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).ok()? + 1;
    File::open(file)
        .ok()?
        .take(limit)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes).replace('\0', "");
    (!text.trim().is_empty()).then_some(text)
}

fn truncate(text: &str) -> String {
    if text.len() <= MAX_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_BYTES);
    format!("{}\n\n[… truncated …]", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_collected_from_the_top_down() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir_all(at("repo/.git")).unwrap();
        std::fs::create_dir_all(at("repo/src")).unwrap();
        std::fs::write(at("AGENTS.md"), "not of this project").unwrap();
        std::fs::write(at("repo/AGENTS.md"), "Be kind.\n").unwrap();
        std::fs::write(at("repo/src/AGENTS.md"), "Be brief.\n").unwrap();
        let read = |dir: &str| super::read(&at(dir), &["AGENTS.md"]);
        let expected = "# Project instructions for agents\n\n## From AGENTS.md\n\nBe kind.";
        assert_eq!(read("repo").as_deref(), Some(expected));
        let deep = read("repo/src").unwrap();
        assert_eq!(
            deep,
            format!("{expected}\n\n## From src/AGENTS.md\n\nBe brief.")
        );
        assert_eq!(super::read(&at("repo"), &["CLAUDE.md"]), None);
        std::fs::create_dir_all(at("other/.git")).unwrap();
        assert_eq!(read("other/nowhere"), None);
    }

    #[test]
    fn p20_symlink_out_of_the_project_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        let repo = home.path().join("repo");
        std::fs::create_dir_all(repo.join(".git")).unwrap();
        std::fs::write(home.path().join("key"), "secret").unwrap();
        std::os::unix::fs::symlink("../key", repo.join("AGENTS.md")).unwrap();
        assert_eq!(read(&repo, &["AGENTS.md"]), None);
        std::fs::remove_file(repo.join("AGENTS.md")).unwrap();
        std::fs::write(repo.join("CLAUDE.md"), "Be kind.").unwrap();
        std::os::unix::fs::symlink("CLAUDE.md", repo.join("AGENTS.md")).unwrap();
        assert!(read(&repo, &["AGENTS.md"]).is_some());
    }

    #[test]
    fn long_instructions_are_truncated_with_a_note() {
        let repo = tempfile::tempdir().unwrap();
        std::fs::write(repo.path().join("AGENTS.md"), "é".repeat(MAX_BYTES)).unwrap();
        let text = read(repo.path(), &["AGENTS.md"]).unwrap();
        assert!(
            text.len() < MAX_BYTES + 200 && text.ends_with("truncated …]"),
            "{}",
            text.len()
        );
    }
}
