//! An agent's working directory, read from its request to the model.

use memchr::memmem;
use windlass_wire::{ModelRequest, Part, Route};

/// The text before the directory, and the text after it. Each agent has its own format.
const WORKDIR_MARKERS: [(&str, &str); 9] = [
    ("<cwd>", "</cwd>"),                            // Codex
    ("Primary working directory: ", "\n"),          // Claude Code
    ("Current working directory: ", "\n"),          // Copilot
    ("Working directory: ", "\n"),                  // opencode, Claude Code before 2.1
    ("currently working in the directory: ", "\n"), // Qwen
    ("Workspace Directories:**\n  - ", "\n"),       // Gemini
    ("The current working directory is `", "`"),    // Kimi
    ("\nAbsolute path: ", "\n"),                    // Vibe
    ("- Workspace root: ", "\n"),                   // fast-agent
];

/// The working directory of an agent, if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentWorkdir(Option<String>);

impl AgentWorkdir {
    /// Returns the directory in the request, or else the one in the script.
    pub(crate) fn from_request(request: &ModelRequest, script: Option<&str>) -> Self {
        let instructions = request.instructions.iter().map(|text| text.text.as_str());
        let messages = request.parts().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let found = instructions.chain(messages).find_map(find_dir);
        Self(
            found
                .or(script)
                .map(|dir| dir.trim_end_matches('/').to_owned()),
        )
    }

    /// Returns the directory, if it is known.
    pub(crate) fn dir(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the working directory in a raw request, if it contains one.
    pub(crate) fn from_raw(target: &str, body: &[u8]) -> Self {
        let request = Route::parse(target).and_then(|route| route.parse_request(body).ok());
        request.map_or(Self(None), |request| Self::from_request(&request, None))
    }

    /// Returns the absolute path, if the directory is known.
    pub(crate) fn join(&self, path: &str) -> String {
        match &self.0 {
            Some(dir) if !path.starts_with('/') => format!("{dir}/{path}"),
            _ => path.to_owned(),
        }
    }
}

/// Finds the working directory in a text.
fn find_dir(text: &str) -> Option<&str> {
    WORKDIR_MARKERS.iter().find_map(|(before, after)| {
        let at = memmem::find(text.as_bytes(), before.as_bytes())?;
        let rest = text.get(at + before.len()..)?;
        let dir = rest.split_once(after).map_or(rest, |(dir, _)| dir).trim();
        dir.starts_with('/').then_some(dir)
    })
}
