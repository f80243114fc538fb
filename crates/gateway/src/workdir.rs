//! Where an agent works, read from what it tells its model.

use memchr::memmem;
use windlass_wire::{ModelRequest, Part, Route};

/// The words before the folder, and the text that ends it. Each agent says it in its own way.
const WORKDIR_MARKERS: [(&str, &str); 6] = [
    ("<cwd>", "</cwd>"),                            // Codex
    ("Primary working directory: ", "\n"),          // Claude Code
    ("Current working directory: ", "\n"),          // Copilot
    ("Working directory: ", "\n"),                  // opencode, Claude Code before 2.1
    ("currently working in the directory: ", "\n"), // Qwen
    ("Workspace Directories:**\n  - ", "\n"),       // Gemini
];

/// The folder that an agent works in, if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentWorkdir(Option<String>);

impl AgentWorkdir {
    /// The folder that the request speaks of, or else the one that the script names.
    pub(crate) fn from_request(request: &ModelRequest, script: Option<&str>) -> Self {
        let instructions = request.instructions.iter().map(|text| text.text.as_str());
        let said = request.parts().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let found = instructions.chain(said).find_map(folder);
        Self(
            found
                .or(script)
                .map(|folder| folder.trim_end_matches('/').to_owned()),
        )
    }

    /// The folder, if it is known.
    pub(crate) fn folder(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The folder that the asker of a raw request works in, as far as it says so.
    pub(crate) fn from_raw(target: &str, body: &[u8]) -> Self {
        let request = Route::parse(target).and_then(|route| route.parse_request(body).ok());
        request.map_or(Self(None), |request| Self::from_request(&request, None))
    }

    /// The whole path, as far as the folder is known.
    pub(crate) fn join(&self, path: &str) -> String {
        match &self.0 {
            Some(folder) if !path.starts_with('/') => format!("{folder}/{path}"),
            _ => path.to_owned(),
        }
    }
}

/// The folder that a text speaks of.
fn folder(text: &str) -> Option<&str> {
    WORKDIR_MARKERS.iter().find_map(|(before, after)| {
        let at = memmem::find(text.as_bytes(), before.as_bytes())?;
        let rest = text.get(at + before.len()..)?;
        let folder = rest
            .split_once(after)
            .map_or(rest, |(folder, _)| folder)
            .trim();
        folder.starts_with('/').then_some(folder)
    })
}
