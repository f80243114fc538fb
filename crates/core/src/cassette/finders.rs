//! What is looked for: secrets, and whatever else belongs to one machine or one day.

use secrecy::ExposeSecret;

use super::needles::{Boundary, Needles};
use super::numbering::Numbering;
use super::patterns::{self, PatternKind};
use super::placeholder::{self, Placeholder};
use super::rewrite::{Finder, Replacement};
use super::{LocalPath, Substitutions, encodings};

/// Finds secrets: those that were told, and what looks like a key.
pub(super) struct SecretFinder {
    told: Needles,
}

impl SecretFinder {
    pub(super) fn new(places: &Substitutions) -> Self {
        let mut told = Needles::default();
        for (name, secret) in places.secrets() {
            for spelling in encodings::secret_encodings(secret.expose_secret()) {
                told.add(spelling, placeholder::secret_name(name), Boundary::Anywhere);
            }
        }
        Self { told }
    }
}

impl Finder for SecretFinder {
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement> {
        if let Some(change) = self.told.find(text, at, borders) {
            return Some(change);
        }
        patterns::match_key(text, at).map(|range| Replacement {
            range,
            with: "{secret}".to_owned(),
        })
    }
}

/// Finds paths, ports and ids.
pub(super) struct LocalValueFinder {
    known: Needles,
    ids: Numbering,
    ports: Numbering,
}

/// The shortest id that is looked for in ordinary text; a shorter one is only replaced where ids stand.
const DISTINCTIVE: usize = 8;

impl LocalValueFinder {
    pub(super) fn new(places: &Substitutions) -> Self {
        let mut known = Needles::default();
        for (place, path) in places.paths() {
            for (spelling, placeholder) in encodings::path_encodings(path, place.as_str()) {
                known.add(spelling, placeholder, Boundary::for_path(path));
            }
            let dashed = encodings::dashed_path_encoding(path, place.as_str());
            if let Some((spelling, placeholder)) = dashed.filter(|_| *place == LocalPath::Workspace)
            {
                known.add(spelling, placeholder, Boundary::Word);
            }
        }
        Self {
            known,
            ids: Numbering::default(),
            ports: Numbering::default(),
        }
    }

    /// Replaces an id that stands where ids stand, and learns it.
    pub(super) fn replace_id(&mut self, id: &mut String) {
        if id.is_empty() {
            return;
        }
        if let Some(mark) = Placeholder::parse_prefix(id).filter(|mark| mark.len == id.len()) {
            self.on_placeholder(&mark);
            return;
        }
        let is_new = !self.ids.contains(id);
        let placeholder = format!("{{id:{}}}", self.ids.number_for(id));
        let distinctive = id.len() >= DISTINCTIVE && id.bytes().any(|b| b.is_ascii_digit());
        if is_new && distinctive {
            self.known
                .add(id.clone(), placeholder.clone(), Boundary::Word);
        }
        *id = placeholder;
    }
}

impl Finder for LocalValueFinder {
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Replacement> {
        if let Some(change) = self.known.find(text, at, borders) {
            return Some(change);
        }
        let (range, look) = patterns::match_port_or_id(text, at, borders)?;
        let found = &text[range.clone()];
        let with = match look {
            PatternKind::Port => format!("{{port:{}}}", self.ports.number_for(found)),
            PatternKind::Id => format!("{{id:{}}}", self.ids.number_for(found)),
        };
        Some(Replacement { range, with })
    }

    /// A number that is taken stays taken.
    fn on_placeholder(&mut self, mark: &Placeholder<'_>) {
        match (mark.name, mark.number()) {
            ("id", Some(number)) => self.ids.reserve(number),
            ("port", Some(number)) => self.ports.reserve(number),
            _ => {}
        }
    }
}
