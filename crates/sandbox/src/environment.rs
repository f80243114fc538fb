//! Composes the environment of a child.
//!
//! The environment starts empty. A child gets the variables listed below if the user has set them,
//! the directories that the sandbox created for it, and the variables that the caller gave for this
//! command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use windlass_core::DirAccess;

use crate::fs_policy::FsPolicy;
use crate::host::Host;
use crate::profile::ProfileKind;

/// Variables that every child gets if the user has set them.
const COMMON_VARS: &[&str] = &["PATH", "LANG", "TERM", "CARGO_HOME", "RUSTUP_HOME"];

/// Variables that a program needs to reach a network: proxies and certificates. An agent always gets
/// them; the caller passes its API key.
pub const NETWORK_VARS: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Toolchains that are in the home directory unless a variable names another directory.
///
/// A child with a private home directory would not find them there.
const TOOLCHAIN_HOMES: &[(&str, &str)] = &[("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];

pub(crate) type EnvVars = BTreeMap<OsString, OsString>;

/// Returns the environment of a child with this policy, before the caller's own variables.
pub(crate) fn compose(policy: &FsPolicy, host: &Host, home: &Path, tmp: &Path) -> EnvVars {
    let mut variables = base_variables(policy.kind, host, home, tmp);
    if policy.access != DirAccess::Repository {
        // Otherwise `git status` would try to write the read-only index.
        set(&mut variables, "GIT_OPTIONAL_LOCKS", "0");
    }
    variables
}

fn base_variables(kind: ProfileKind, host: &Host, home: &Path, tmp: &Path) -> EnvVars {
    let mut variables = EnvVars::new();
    let extra = if kind == ProfileKind::Agent {
        NETWORK_VARS
    } else {
        &[]
    };
    for name in COMMON_VARS.iter().chain(extra) {
        if let Some(value) = host.variable(name) {
            set(&mut variables, name, value);
        }
    }
    for (name, dir) in TOOLCHAIN_HOMES {
        let real = host.home().join(dir);
        if host.variable(name).is_none() && real.is_dir() {
            set(&mut variables, name, real);
        }
    }
    if host.variable("PATH").is_none() {
        set(&mut variables, "PATH", host.path());
    }
    set(&mut variables, "HOME", home);
    set(&mut variables, "TMPDIR", tmp);
    variables
}

fn set(variables: &mut EnvVars, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
    variables.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(kind: ProfileKind) -> Vec<String> {
        let everything = COMMON_VARS.iter().chain(NETWORK_VARS).chain(&[
            "SECRET_TOKEN",
            "OPENAI_API_KEY",
            "LD_PRELOAD",
        ]);
        let host = Host::new(everything.map(|name| (*name, "x")));
        let variables = base_variables(kind, &host, Path::new("/h"), Path::new("/t"));
        variables
            .into_keys()
            .map(|name| name.into_string().unwrap())
            .collect()
    }

    #[test]
    fn p18_tools_and_tests_get_only_listed_variables() {
        let list = [
            "CARGO_HOME",
            "HOME",
            "LANG",
            "PATH",
            "RUSTUP_HOME",
            "TERM",
            "TMPDIR",
        ];
        assert_eq!(names(ProfileKind::Tool), list);
        assert_eq!(names(ProfileKind::Test), list);
    }

    #[test]
    fn p18_agents_get_proxy_variables_but_no_keys() {
        let names = names(ProfileKind::Agent);
        assert!(names.contains(&"HTTPS_PROXY".to_owned()));
        assert!(
            !names
                .iter()
                .any(|name| name.contains("KEY") || name.contains("SECRET"))
        );
    }
}
