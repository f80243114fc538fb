//! The `.env` of a project as a layer: settings that it may make, secrets that it may lend.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::dotenv::{self, LineError, Variable};
use super::setting::SettingMap;
use super::trust::TrustStatus;
use super::{Key, Layer, Notice, Origin, Result, SourceFile, env_vars};

/// A `.env` that was read.
pub(super) struct EnvFile {
    source: SourceFile,
    standing: TrustStatus,
    /// By name; the last of two counts.
    variables: BTreeMap<String, Variable>,
    faults: Vec<LineError>,
}

impl EnvFile {
    /// Reads the lines of a file.
    pub(super) fn new(source: SourceFile, standing: TrustStatus) -> Self {
        let mut variables = BTreeMap::new();
        let mut faults = Vec::new();
        for item in dotenv::parse(source.text()) {
            match item {
                Ok((name, variable)) => drop(variables.insert(name, variable)),
                Err(fault) => faults.push(fault),
            }
        }
        Self {
            source,
            standing,
            variables,
            faults,
        }
    }

    /// The settings that the file may make, and the keys that it may not.
    pub(super) fn layer(&self, agents: &[&str]) -> Result<(SettingMap, Vec<String>)> {
        let mut settings = self.settings(agents)?;
        let left_out = match self.is_trusted() {
            true => Vec::new(),
            false => settings.remove_untrusted(),
        };
        Ok((settings, left_out.iter().map(Key::to_string).collect()))
    }

    /// All settings that the file makes, trusted or not.
    pub(super) fn settings(&self, agents: &[&str]) -> Result<SettingMap> {
        let mut settings = SettingMap::default();
        let ours = self
            .variables
            .iter()
            .filter(|(name, _)| env_vars::is_ours(name));
        for (name, variable) in ours {
            let origin = self.at(variable.line);
            env_vars::apply(&mut settings, agents, (name, &variable.value), origin)?;
        }
        Ok(settings)
    }

    /// The names of the variables that set no key.
    pub(super) fn other_names(&self) -> impl Iterator<Item = &str> {
        let names = self.variables.keys().map(String::as_str);
        names.filter(|name| !env_vars::is_ours(name))
    }

    /// The variables that may be looked up: all of a trusted file that hold something, none of any other.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (String, SecretString)> {
        let lent = self
            .variables
            .iter()
            .filter(|(_, variable)| self.is_trusted() && !variable.value.is_empty());
        lent.map(|(name, variable)| (name.clone(), SecretString::from(variable.value.as_str())))
    }

    /// What a person should know: of a trusted file, the lines that are no variables; of any other, the settings
    /// that were left out, and the keys that somebody wanted to look up here.
    pub(super) fn notice(&self, mut left_out: Vec<String>, wanted: &[&str]) -> Option<Notice> {
        if self.is_trusted() {
            let first = self.faults.first()?;
            return Some(Notice::IgnoredLine {
                at: self.at(first.line),
                problem: first.problem,
                more: self.faults.len() - 1,
            });
        }
        let held = wanted
            .iter()
            .filter(|name| self.variables.contains_key(**name));
        left_out.extend(held.map(|name| (*name).to_owned()));
        Notice::untrusted(&self.source, self.standing, left_out)
    }

    fn at(&self, line: usize) -> Origin {
        Origin::file(Layer::DotEnv, self.source.path()).at_line(line)
    }

    fn is_trusted(&self) -> bool {
        self.standing == TrustStatus::Trusted
    }
}
