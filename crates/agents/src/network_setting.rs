//! The setting `network` of an agent.

use serde::Deserialize;
use windlass_core::{Error, Result};
use windlass_sandbox::HostRule;

/// The setting `network` of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum NetworkSetting {
    /// Every host, or none.
    Mode(NetworkMode),
    /// Hosts in addition to the provider, as `host:port`.
    Hosts(Vec<String>),
}

/// A network setting that is not a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Every host.
    Open,
    /// No host.
    None,
}

/// Checks the hosts of the setting.
pub(crate) fn check(setting: Option<&NetworkSetting>) -> Result<()> {
    match setting {
        Some(NetworkSetting::Hosts(hosts)) => parse(hosts).map(|_| ()),
        _ => Ok(()),
    }
}

/// Parses hosts such as `api.example.com:443`.
pub(crate) fn parse<S: AsRef<str>>(hosts: &[S]) -> Result<Vec<HostRule>> {
    let rules = hosts.iter().map(|host| host.as_ref().parse());
    let rules: Result<Vec<HostRule>, _> = rules.collect();
    rules.map_err(|error| Error::config("network", error.to_string()))
}
