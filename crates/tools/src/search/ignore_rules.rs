//! Which files git would ignore, by the files that say so on the way down.

use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use windlass_workspace::paths::Root;

/// The files that say what is ignored; the later one has the last word.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The longest such file that is obeyed.
const BYTES: u64 = 1 << 20;

/// What one folder and all above it ignore.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    /// The folder's path with a slash at its end, or nothing for the root.
    prefix: String,
    rules: Vec<Gitignore>,
}

impl IgnoreRules {
    /// The rules of a folder, on top of those above it. A file of rules that cannot be read has none:
    /// it may be a pipe, a link out, or gone.
    pub(super) fn load(root: &Root, folder: &str, above: Option<Arc<Self>>) -> Arc<Self> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let mut rules = Vec::new();
        for file in FILES {
            let Ok(content) = root.read(&format!("{prefix}{file}"), BYTES) else {
                continue;
            };
            let mut builder = GitignoreBuilder::new("");
            for line in String::from_utf8_lossy(&content).lines() {
                // A line that makes no sense ignores nothing.
                let _ = builder.add_line(None, line);
            }
            rules.extend(builder.build());
        }
        Arc::new(Self {
            above,
            prefix,
            rules,
        })
    }

    /// Whether the path, which lies in this folder or deeper, is ignored.
    pub(super) fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let here = path.strip_prefix(&self.prefix).unwrap_or(path);
        for rules in self.rules.iter().rev() {
            match rules.matched(here, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        self.above
            .as_ref()
            .is_some_and(|above| above.is_ignored(path, is_folder))
    }
}
