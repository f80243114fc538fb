//! The `.env` of a project as a configuration layer: its settings and its secrets.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::dotenv::{self, LineError, Variable};
use super::setting::SettingMap;
use super::trust_store::TrustStatus;
use super::{Key, Layer, Notice, Origin, Result, SourceFile, env_vars};

/// A parsed `.env` file.
pub(super) struct EnvFile {
    source: SourceFile,
    trust: TrustStatus,
    /// Variables by name; of two with the same name, the last one is used.
    variables: BTreeMap<String, Variable>,
    errors: Vec<LineError>,
}

impl EnvFile {
    /// Parses a file.
    pub(super) fn new(source: SourceFile, trust: TrustStatus) -> Self {
        let mut variables = BTreeMap::new();
        let mut errors = Vec::new();
        for item in dotenv::parse(source.text()) {
            match item {
                Ok((name, variable)) => drop(variables.insert(name, variable)),
                Err(error) => errors.push(error),
            }
        }
        Self {
            source,
            trust,
            variables,
            errors,
        }
    }

    /// Returns the settings of the file that apply over the earlier layers, and the keys that are ignored because the
    /// file is not trusted.
    pub(super) fn layer(&self, earlier: &SettingMap) -> Result<(SettingMap, Vec<String>)> {
        let mut settings = self.settings(&earlier.agents())?;
        let ignored = if self.is_trusted() {
            Vec::new()
        } else {
            settings.remove_untrusted(earlier)
        };
        Ok((settings, ignored.iter().map(Key::to_string).collect()))
    }

    /// Returns all settings of the file, trusted or not.
    pub(super) fn settings(&self, agents: &[&str]) -> Result<SettingMap> {
        let mut settings = SettingMap::default();
        let variables = self
            .variables
            .iter()
            .filter(|(name, _)| env_vars::sets_key(name));
        for (name, variable) in variables {
            let origin = self.at(variable.line);
            env_vars::apply(&mut settings, agents, (name, &variable.value), origin)?;
        }
        Ok(settings)
    }

    /// Returns the names of the variables that set no key.
    pub(super) fn other_names(&self) -> impl Iterator<Item = &str> {
        let names = self.variables.keys().map(String::as_str);
        names.filter(|name| !env_vars::sets_key(name))
    }

    /// Returns the variables that may be read as secrets: all non-empty variables of a trusted file, none of an
    /// untrusted one.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (String, SecretString)> {
        self.values().filter(|_| self.is_trusted())
    }

    /// Returns all non-empty variables, trusted or not.
    pub(super) fn values(&self) -> impl Iterator<Item = (String, SecretString)> {
        let variables = self.variables.iter();
        variables
            .filter(|(_, variable)| !variable.value.is_empty())
            .map(|(name, variable)| (name.clone(), SecretString::from(variable.value.as_str())))
    }

    /// Returns the notice about this file: for a trusted file, the invalid lines; for an untrusted file, the ignored
    /// settings and the variables in `wanted` that it contains.
    pub(super) fn notice(&self, mut ignored: Vec<String>, wanted: &[&str]) -> Option<Notice> {
        if self.is_trusted() {
            let first = self.errors.first()?;
            return Some(Notice::IgnoredLine {
                at: self.at(first.line),
                problem: first.problem,
                more: self.errors.len() - 1,
            });
        }
        let present = wanted
            .iter()
            .filter(|name| self.variables.contains_key(**name));
        ignored.extend(present.map(|name| (*name).to_owned()));
        Notice::untrusted(&self.source, self.trust, ignored)
    }

    fn at(&self, line: usize) -> Origin {
        Origin::file(Layer::DotEnv, self.source.path()).at_line(line)
    }

    fn is_trusted(&self) -> bool {
        self.trust == TrustStatus::Trusted
    }
}
