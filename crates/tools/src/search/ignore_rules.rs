//! Evaluates ignore files, like git.

use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use windlass_workspace::paths::Root;

/// The ignore files. The later one takes precedence.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The maximum size of an ignore file. Larger files are not used.
const MAX_BYTES: u64 = 1 << 20;

/// The ignore rules of a directory and all of its parents.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreRules {
    parent: Option<Arc<IgnoreRules>>,
    /// The path of the directory with a trailing slash, or an empty string for the root.
    prefix: String,
    rules: Vec<Gitignore>,
}

impl IgnoreRules {
    /// Loads the rules of a directory, on top of those of its parents. An ignore file that cannot be read has
    /// no rules: it may be a pipe, a link to the outside, or deleted.
    pub(super) fn load(root: &Root, dir: &str, parent: Option<Arc<Self>>) -> Arc<Self> {
        let prefix = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let mut rules = Vec::new();
        for file in FILES {
            let Ok(content) = root.read(&format!("{prefix}{file}"), MAX_BYTES) else {
                continue;
            };
            let mut builder = GitignoreBuilder::new("");
            for line in String::from_utf8_lossy(&content).lines() {
                // An invalid line ignores nothing.
                let _ = builder.add_line(None, line);
            }
            rules.extend(builder.build());
        }
        Arc::new(Self {
            parent,
            prefix,
            rules,
        })
    }

    /// Returns `true` if the path, which is inside this directory, is ignored.
    pub(super) fn is_ignored(&self, path: &str, is_dir: bool) -> bool {
        let relative = path.strip_prefix(&self.prefix).unwrap_or(path);
        for rules in self.rules.iter().rev() {
            match rules.matched(relative, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        self.parent
            .as_ref()
            .is_some_and(|parent| parent.is_ignored(path, is_dir))
    }
}
