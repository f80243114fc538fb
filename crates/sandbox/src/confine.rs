//! Applies the file policy as Landlock rules, and the system call filter, to the calling thread.
//!
//! Landlock can only grant access. To hide a path inside a readable directory, each sibling of that
//! path is allowed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::error::Error;
use crate::fs_policy::Access;
use crate::init_protocol::{Confinement, PortRule};
use crate::seccomp;

/// Older versions do not control `truncate`, so any file could be emptied.
const MIN_ABI: ABI = ABI::V3;
const TARGET_ABI: ABI = ABI::V6;

/// Harmless devices that most programs need.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/tty",
];

/// Permanently restricts this thread and every process it starts.
pub(crate) fn apply(confinement: &Confinement) -> Result<(), String> {
    restrict_files(confinement).map_err(|error| format!("landlock: {error}"))?;
    drop_capabilities().map_err(|error| format!("capabilities: {error}"))?;
    seccomp::apply(confinement.calls, confinement.sockets)
        .map_err(|error| format!("seccomp: {error}"))
}

/// Drops all capabilities. Root still owns its files, but without capabilities it cannot read other
/// processes' memory, which no file rule forbids. The thread also cannot gain privileges, so
/// executing another program does not restore them.
fn drop_capabilities() -> rustix::io::Result<()> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none)
}

fn restrict_files(confinement: &Confinement) -> Result<(), Box<dyn std::error::Error>> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(MIN_ABI))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(TARGET_ABI))?
        .scope(Scope::from_all(TARGET_ABI))?;
    match &confinement.network {
        PortRule::None => ruleset = ruleset.handle_access(AccessNet::from_all(TARGET_ABI))?,
        PortRule::Only(_) => {
            // Without this right the process would reach every host.
            ruleset = ruleset
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessNet::ConnectTcp)?
                .set_compatibility(CompatLevel::BestEffort);
        }
        PortRule::Any => {}
    }
    let rules = confinement
        .rules
        .iter()
        .map(|(path, access)| (PathBuf::from(path), *access))
        .collect();
    let mut builder = RulesetBuilder {
        ruleset: ruleset.create()?,
        rules,
    };
    if let PortRule::Only(ports) = &confinement.network {
        for &port in ports {
            (&mut builder.ruleset).add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
    }
    for (path, access) in builder.rules.clone() {
        builder.allow(&path, access)?;
    }
    for device in DEVICES {
        builder.add(Path::new(device), AccessFs::from_all(TARGET_ABI))?;
    }
    let status = builder.ruleset.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("the kernel does not enforce it".into());
    }
    Ok(())
}

struct RulesetBuilder {
    ruleset: RulesetCreated,
    rules: BTreeMap<PathBuf, Access>,
}

impl RulesetBuilder {
    /// Allows a path and everything under it, except paths with their own rule.
    fn allow(&mut self, path: &Path, access: Access) -> Result<(), Box<dyn std::error::Error>> {
        let rights = match access {
            // Under Landlock, private directories are elsewhere; HOME and TMPDIR name them.
            Access::Hidden | Access::Private => return Ok(()),
            Access::Read => AccessFs::from_read(TARGET_ABI),
            Access::Write => AccessFs::from_all(TARGET_ABI),
        };
        // New names cannot be allowed separately, so a writable directory is allowed as a whole.
        if access == Access::Write || !self.has_rules_below(path) {
            return self.add(path, rights);
        }
        let Ok(entries) = path.read_dir() else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let child = entry.path();
            // A link needs no rule: the kernel checks its target when the link is followed.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && !self.rules.contains_key(&child) {
                self.allow(&child, access)?;
            }
        }
        Ok(())
    }

    fn has_rules_below(&self, path: &Path) -> bool {
        self.rules
            .range(path.to_owned()..)
            .skip_while(|(rule, _)| *rule == path)
            .any(|(rule, _)| rule.starts_with(path))
    }

    fn add(
        &mut self,
        path: &Path,
        rights: BitFlags<AccessFs>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        // A path that has vanished or cannot be opened needs no rule.
        let Ok(opened) = PathFd::new(path) else {
            return Ok(());
        };
        let rights = if path.is_dir() {
            rights
        } else {
            rights & AccessFs::from_file(TARGET_ABI)
        };
        (&mut self.ruleset).add_rule(PathBeneath::new(opened, rights))?;
        Ok(())
    }
}

/// Converts the rules for [`Confinement`].
pub(crate) fn encode(rules: &BTreeMap<PathBuf, Access>) -> Vec<(OsString, Access)> {
    rules
        .iter()
        .map(|(path, &access)| (path.into(), access))
        .collect()
}

/// Rejects rules that restrict a path inside a writable directory: Landlock cannot express them.
pub(crate) fn reject_unenforceable(rules: &BTreeMap<PathBuf, Access>) -> Result<(), Error> {
    let above = |path: &Path| {
        path.ancestors()
            .skip(1)
            .find_map(|above| rules.get(above))
            .copied()
    };
    let unenforceable = rules
        .iter()
        .find(|(path, access)| **access != Access::Write && above(path) == Some(Access::Write));
    match unenforceable {
        Some((path, _)) => Err(Error::Path {
            path: path.clone(),
            problem: "cannot be protected inside a writable directory: landlock has no such rule"
                .into(),
        }),
        None => Ok(()),
    }
}
