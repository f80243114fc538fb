//! Finders for secrets and for machine-specific values.

use windlass_core::{ExposeSecret, mask};

use crate::needles::{Boundary, Needles};
use crate::numbering::Numbering;
use crate::patterns::{self, PatternKind};
use crate::placeholder::{self, Placeholder};
use crate::rewrite::{Finder, Replacement};
use crate::{LocalPath, Substitutions, encodings};

/// Finds secrets: the known ones, and text that matches the pattern of a key.
pub(crate) struct SecretFinder {
    known: Needles,
}

impl SecretFinder {
    pub(crate) fn new(substitutions: &Substitutions) -> Self {
        let mut known = Needles::default();
        for (name, secret) in substitutions.secrets() {
            for encoded in mask::secret_encodings(secret.expose_secret()) {
                known.add(encoded, placeholder::secret_name(name), Boundary::Anywhere);
            }
        }
        Self { known }
    }
}

impl Finder for SecretFinder {
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement> {
        if let Some(replacement) = self.known.find(text, at, borders) {
            return Some(replacement);
        }
        patterns::match_key(text, at, borders).map(|range| Replacement {
            range,
            with: "{secret}".to_owned(),
        })
    }
}

/// Finds paths, ports and ids.
pub(crate) struct LocalValueFinder {
    known: Needles,
    ids: Numbering,
    ports: Numbering,
    /// Ids and ports stay as they are.
    keeps_ids: bool,
}

/// The minimum length of an id that is replaced in ordinary text. A shorter id is replaced in id fields only.
const MIN_ID_LEN_IN_TEXT: usize = 8;

impl LocalValueFinder {
    pub(crate) fn new(substitutions: &Substitutions) -> Self {
        let mut known = Needles::default();
        for (local_path, path) in substitutions.paths() {
            for (encoded, placeholder) in encodings::path_encodings(path, local_path.as_str()) {
                known.add(encoded, placeholder, Boundary::for_path(path));
            }
            let dashed = encodings::dashed_path_encoding(path, local_path.as_str());
            if let Some((encoded, placeholder)) =
                dashed.filter(|_| *local_path == LocalPath::Workspace)
            {
                known.add(encoded, placeholder, Boundary::Word);
            }
        }
        Self {
            known,
            ids: Numbering::default(),
            ports: Numbering::default(),
            keeps_ids: false,
        }
    }

    /// Leaves ids and ports as they are.
    pub(crate) fn keep_ids(&mut self) {
        self.keeps_ids = true;
    }

    /// Replaces the value of an id field, and remembers it.
    pub(crate) fn replace_id(&mut self, id: &mut String) {
        if id.is_empty() || self.keeps_ids {
            return;
        }
        if let Some(placeholder) =
            Placeholder::parse_prefix(id).filter(|placeholder| placeholder.len == id.len())
        {
            self.on_placeholder(&placeholder);
            return;
        }
        let is_new = !self.ids.contains(id);
        let placeholder = format!("{{id:{}}}", self.ids.number_for(id));
        let is_distinctive =
            id.len() >= MIN_ID_LEN_IN_TEXT && id.bytes().any(|b| b.is_ascii_digit());
        if is_new && is_distinctive {
            self.known
                .add(id.clone(), placeholder.clone(), Boundary::Word);
        }
        *id = placeholder;
    }
}

impl Finder for LocalValueFinder {
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement> {
        if let Some(replacement) = self.known.find(text, at, borders) {
            return Some(replacement);
        }
        if self.keeps_ids {
            return None;
        }
        let (range, kind) = patterns::match_port_or_id(text, at, borders)?;
        let found = &text[range.clone()];
        let with = match kind {
            PatternKind::Port => format!("{{port:{}}}", self.ports.number_for(found)),
            PatternKind::Id => format!("{{id:{}}}", self.ids.number_for(found)),
        };
        Some(Replacement { range, with })
    }

    /// Reserves the number of a placeholder that is already in the text.
    fn on_placeholder(&mut self, placeholder: &Placeholder<'_>) {
        match (placeholder.name, placeholder.number()) {
            ("id", Some(number)) => self.ids.reserve(number),
            ("port", Some(number)) => self.ports.reserve(number),
            _ => {}
        }
    }
}
