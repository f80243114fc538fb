//! The machine-specific values of a recording: paths and secrets.

use std::fmt;
use std::path::Path;

use serde_json::Value;
use windlass_core::{ExposeSecret, SecretString, mask};

use crate::encodings::PathEncoding;
use crate::placeholder::Placeholder;
use crate::{Interaction, visit};

/// A path that differs between machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LocalPath {
    /// The agent's working directory.
    Workspace,
    /// The user's home directory.
    Home,
    /// The directory for temporary files.
    Tmp,
    /// The program of the agent.
    Executable,
}

impl LocalPath {
    /// Returns the name in the placeholder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Home => "home",
            Self::Tmp => "tmp",
            Self::Executable => "executable",
        }
    }
}

impl fmt::Display for LocalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The paths and secrets of this machine. A recording replaces them, and a replay restores the paths.
#[derive(Debug, Clone, Default)]
pub struct Substitutions {
    paths: Vec<(LocalPath, String)>,
    secrets: Vec<(String, SecretString)>,
}

impl Substitutions {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a path. There may be several of one kind, e.g. the target of a symbolic link: a recording
    /// replaces all of them, and a replay restores the first.
    ///
    /// The root of a file system, an empty path and a relative path are ignored, because they are not
    /// specific to a machine.
    #[must_use]
    pub fn path(mut self, kind: LocalPath, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_string_lossy();
        let path = path.trim_end_matches(['/', '\\']);
        let absolute =
            path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|s| s.starts_with(':'));
        let is_specific = path.len() > 1 && absolute;
        let known = self.paths.iter().any(|(_, known)| known == path);
        if is_specific && !known {
            self.paths.push((kind, path.to_owned()));
        }
        self
    }

    /// Adds the agent's working directory.
    #[must_use]
    pub fn workspace(self, path: impl AsRef<Path>) -> Self {
        self.path(LocalPath::Workspace, path)
    }

    /// Adds the user's home directory.
    #[must_use]
    pub fn home(self, path: impl AsRef<Path>) -> Self {
        self.path(LocalPath::Home, path)
    }

    /// Adds a secret and the name that replaces it in a recording.
    #[must_use]
    pub fn secret(mut self, name: &str, secret: SecretString) -> Self {
        if !secret.expose_secret().is_empty() {
            self.secrets.push((name.to_owned(), secret));
        }
        self
    }

    /// Returns a copy in which the given working directory precedes the existing ones.
    #[must_use]
    pub fn with_workspace(&self, path: impl AsRef<Path>) -> Self {
        let mut substitutions = Self {
            paths: Vec::new(),
            secrets: self.secrets.clone(),
        }
        .workspace(path);
        for (kind, path) in &self.paths {
            substitutions = substitutions.path(*kind, path);
        }
        substitutions
    }

    pub(crate) fn paths(&self) -> &[(LocalPath, String)] {
        &self.paths
    }

    pub(crate) fn secrets(&self) -> &[(String, SecretString)] {
        &self.secrets
    }

    /// Replaces placeholders in a recorded turn by the paths of this machine. Placeholders of unknown paths
    /// stay, as do ids, ports and secrets.
    pub fn restore(&self, interaction: &mut Interaction) {
        visit::for_each_text(interaction, &mut |text| self.restore_text(text));
    }

    /// Like [`restore`](Self::restore), for the strings of a value.
    pub fn restore_value(&self, value: &mut Value) {
        visit::strings(value, &mut |text| self.restore_text(text));
    }

    /// Like [`restore`](Self::restore), for one text.
    pub fn restore_text(&self, text: &mut String) {
        let mut restored = String::new();
        let mut done = 0;
        let mut at = 0;
        while let Some(brace) = text[at..].find('{') {
            at += brace;
            let Some(placeholder) = Placeholder::parse_prefix(&text[at..]) else {
                at += 1;
                continue;
            };
            if let Some(path) = self.encoded(&placeholder, text, at) {
                restored.push_str(&text[done..at]);
                restored.push_str(&path);
                done = at + placeholder.len;
            }
            at += placeholder.len;
        }
        if done > 0 {
            restored.push_str(&text[done..]);
            *text = restored;
        }
    }

    /// Returns the path for a placeholder, in the encoding that its context needs.
    fn encoded(&self, placeholder: &Placeholder<'_>, text: &str, at: usize) -> Option<String> {
        let is_named = |(kind, _): &&(LocalPath, String)| kind.as_str() == placeholder.name;
        let (_, path) = self.paths.iter().find(is_named)?;
        let encoding = PathEncoding::from_detail(placeholder.detail)?;
        Some(match encoding {
            PathEncoding::Plain if text[..at].ends_with("file://") => {
                mask::percent_encode(&path.replace('\\', "/"), "/:")
            }
            PathEncoding::Plain if path.contains(['\\', '"']) && is_json(text) => {
                mask::json_escape(path)
            }
            encoding => encoding.encode(path),
        })
    }
}

/// Returns `true` if the text is JSON, such as the arguments of a tool.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
