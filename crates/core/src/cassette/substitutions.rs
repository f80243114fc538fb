//! What belongs to one machine: its paths and its secrets.

use std::fmt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use super::encodings::{self, PathEncoding};
use super::placeholder::Placeholder;
use super::{Interaction, visit};

/// A path that is another one on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LocalPath {
    /// Where the agent works.
    Workspace,
    /// The user's home.
    Home,
    /// Where temporary files go.
    Tmp,
    /// The agent's program.
    Executable,
}

impl LocalPath {
    /// The name in the placeholder.
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

/// The paths and secrets of this machine: what a recording leaves out, and what a replay puts back.
#[derive(Debug, Clone, Default)]
pub struct Substitutions {
    paths: Vec<(LocalPath, String)>,
    secrets: Vec<(String, SecretString)>,
}

impl Substitutions {
    /// No places.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a path. A place may have several, such as one behind a link: all are left out of a recording,
    /// and a replay puts the first one back.
    ///
    /// The root of a file system, an empty path and a relative one say nothing about a machine.
    #[must_use]
    pub fn path(mut self, place: LocalPath, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_string_lossy();
        let path = path.trim_end_matches(['/', '\\']);
        let absolute =
            path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|s| s.starts_with(':'));
        let named = path.len() > 1 && absolute;
        let known = self.paths.iter().any(|(_, known)| known == path);
        if named && !known {
            self.paths.push((place, path.to_owned()));
        }
        self
    }

    /// Adds the folder in which the agent works.
    #[must_use]
    pub fn workspace(self, path: impl AsRef<Path>) -> Self {
        self.path(LocalPath::Workspace, path)
    }

    /// Adds the user's home.
    #[must_use]
    pub fn home(self, path: impl AsRef<Path>) -> Self {
        self.path(LocalPath::Home, path)
    }

    /// Adds a secret under the name that a recording shows in its place.
    #[must_use]
    pub fn secret(mut self, name: &str, secret: SecretString) -> Self {
        if !secret.expose_secret().is_empty() {
            self.secrets.push((name.to_owned(), secret));
        }
        self
    }

    /// These places, with another folder to work in before the ones that are known.
    #[must_use]
    pub fn with_workspace(&self, path: impl AsRef<Path>) -> Self {
        let mut places = Self {
            paths: Vec::new(),
            secrets: self.secrets.clone(),
        }
        .workspace(path);
        for (place, path) in &self.paths {
            places = places.path(*place, path);
        }
        places
    }

    pub(super) fn paths(&self) -> &[(LocalPath, String)] {
        &self.paths
    }

    pub(super) fn secrets(&self) -> &[(String, SecretString)] {
        &self.secrets
    }

    /// Puts this machine's paths in the place of their placeholders, so that a recorded turn can be used
    /// here. Placeholders of places that are not known here stay, as do ids, ports and secrets.
    pub fn restore(&self, interaction: &mut Interaction) {
        visit::for_each_text(interaction, &mut |text| self.restore_text(text));
    }

    /// [`restore`](Self::restore) for one text.
    pub fn restore_text(&self, text: &mut String) {
        let mut restored = String::new();
        let mut done = 0;
        let mut at = 0;
        while let Some(brace) = text[at..].find('{') {
            at += brace;
            let Some(mark) = Placeholder::parse_prefix(&text[at..]) else {
                at += 1;
                continue;
            };
            if let Some(path) = self.encoded(&mark, text, at) {
                restored.push_str(&text[done..at]);
                restored.push_str(&path);
                done = at + mark.len;
            }
            at += mark.len;
        }
        if done > 0 {
            restored.push_str(&text[done..]);
            *text = restored;
        }
    }

    /// The path for a placeholder, spelt as its surroundings need it.
    fn encoded(&self, mark: &Placeholder<'_>, text: &str, at: usize) -> Option<String> {
        let known = |(place, _): &&(LocalPath, String)| place.as_str() == mark.name;
        let (_, path) = self.paths.iter().find(known)?;
        let form = PathEncoding::from_detail(mark.detail)?;
        Some(match form {
            PathEncoding::Plain if text[..at].ends_with("file://") => {
                encodings::percent(&path.replace('\\', "/"), "/:")
            }
            PathEncoding::Plain if path.contains(['\\', '"']) && is_json(text) => {
                encodings::json(path)
            }
            form => form.encode(path),
        })
    }
}

/// Whether a text is itself JSON, such as the arguments of a tool.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
