//! What is looked for: secrets, and whatever else belongs to one machine or one day.

use secrecy::ExposeSecret;

use super::looks::{self, Look};
use super::mark::{self, Mark};
use super::needles::{Fit, Needles};
use super::numbers::Numbers;
use super::pieces::{Change, Finder};
use super::{Place, Places, spelling};

/// Finds secrets: those that were told, and what looks like a key.
pub(super) struct Secrets {
    told: Needles,
}

impl Secrets {
    pub(super) fn new(places: &Places) -> Self {
        let mut told = Needles::default();
        for (name, secret) in places.secrets() {
            for spelling in spelling::of_secret(secret.expose_secret()) {
                told.add(spelling, mark::secret(name), Fit::Anywhere);
            }
        }
        Self { told }
    }
}

impl Finder for Secrets {
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Change> {
        if let Some(change) = self.told.find(text, at, borders) {
            return Some(change);
        }
        looks::key(text, at).map(|range| Change {
            range,
            with: "{secret}".to_owned(),
        })
    }
}

/// Finds paths, ports and ids.
pub(super) struct Locals {
    known: Needles,
    ids: Numbers,
    ports: Numbers,
}

/// The shortest id that is looked for in ordinary text; a shorter one is only replaced where ids stand.
const DISTINCTIVE: usize = 8;

impl Locals {
    pub(super) fn new(places: &Places) -> Self {
        let mut known = Needles::default();
        for (place, path) in places.paths() {
            for (spelling, placeholder) in spelling::of_path(path, place.as_str()) {
                known.add(spelling, placeholder, Fit::of_path(path));
            }
            let dashed = spelling::of_path_dashed(path, place.as_str());
            if let Some((spelling, placeholder)) = dashed.filter(|_| *place == Place::Workspace) {
                known.add(spelling, placeholder, Fit::Word);
            }
        }
        Self {
            known,
            ids: Numbers::default(),
            ports: Numbers::default(),
        }
    }

    /// Replaces an id that stands where ids stand, and learns it.
    pub(super) fn id(&mut self, id: &mut String) {
        if id.is_empty() {
            return;
        }
        if let Some(mark) = Mark::at_start(id).filter(|mark| mark.len == id.len()) {
            self.keep(&mark);
            return;
        }
        let is_new = !self.ids.knows(id);
        let placeholder = format!("{{id:{}}}", self.ids.of(id));
        let distinctive = id.len() >= DISTINCTIVE && id.bytes().any(|b| b.is_ascii_digit());
        if is_new && distinctive {
            self.known.add(id.clone(), placeholder.clone(), Fit::Word);
        }
        *id = placeholder;
    }
}

impl Finder for Locals {
    fn find(&mut self, text: &str, at: usize, borders: &[usize]) -> Option<Change> {
        if let Some(change) = self.known.find(text, at, borders) {
            return Some(change);
        }
        let (range, look) = looks::port_or_id(text, at, borders)?;
        let found = &text[range.clone()];
        let with = match look {
            Look::Port => format!("{{port:{}}}", self.ports.of(found)),
            Look::Id => format!("{{id:{}}}", self.ids.of(found)),
        };
        Some(Change { range, with })
    }

    /// A number that is taken stays taken.
    fn keep(&mut self, mark: &Mark<'_>) {
        match (mark.name, mark.number()) {
            ("id", Some(number)) => self.ids.reserve(number),
            ("port", Some(number)) => self.ports.reserve(number),
            _ => {}
        }
    }
}
