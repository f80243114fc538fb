//! The view as Landlock rules, and the network as a seccomp filter, for the thread that asks.
//!
//! Landlock can only allow. What is hidden inside something readable is left out by allowing its
//! siblings one by one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::error::Error;
use crate::fs_policy::Access;
use crate::init_protocol::Confinement;
use crate::network;

/// Below this, `truncate` is not guarded, and any file could be emptied.
const MIN_ABI: ABI = ABI::V3;
const TARGET_ABI: ABI = ABI::V6;

/// Devices that harm nobody and that everybody needs.
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

/// Binds this thread, and everything it starts, for good.
pub(crate) fn apply(walls: &Confinement) -> Result<(), String> {
    restrict_files(walls).map_err(|error| format!("landlock: {error}"))?;
    drop_capabilities().map_err(|error| format!("capabilities: {error}"))?;
    network::restrict_sockets(walls.network, walls.unix_sockets)
        .map_err(|error| format!("seccomp: {error}"))
}

/// Root keeps its files and loses its powers: with them it could read other processes' memory,
/// which no rule for files forbids. As the thread may gain no privileges either, a new program does
/// not bring them back.
fn drop_capabilities() -> rustix::io::Result<()> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none)
}

fn restrict_files(walls: &Confinement) -> Result<(), Box<dyn std::error::Error>> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(MIN_ABI))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(TARGET_ABI))?
        .scope(Scope::from_all(TARGET_ABI))?;
    if !walls.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(TARGET_ABI))?;
    }
    let rules = walls
        .rules
        .iter()
        .map(|(path, access)| (PathBuf::from(path), *access))
        .collect();
    let mut allowance = RulesetBuilder {
        ruleset: ruleset.create()?,
        rules,
    };
    for (path, access) in allowance.rules.clone() {
        allowance.allow(&path, access)?;
    }
    for device in DEVICES {
        allowance.add(Path::new(device), AccessFs::from_all(TARGET_ABI))?;
    }
    let status = allowance.ruleset.restrict_self()?;
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
    /// Allows a path and what is below it, but for what has a rule of its own.
    fn allow(&mut self, path: &Path, access: Access) -> Result<(), Box<dyn std::error::Error>> {
        let rights = match access {
            // What is private has another place under Landlock, said in HOME and TMPDIR.
            Access::Hidden | Access::Private => return Ok(()),
            Access::Read => AccessFs::from_read(TARGET_ABI),
            Access::Write => AccessFs::from_all(TARGET_ABI),
        };
        // New names cannot be allowed one by one, so a writable folder is allowed as a whole.
        if access == Access::Write || !self.has_rules_below(path) {
            return self.add(path, rights);
        }
        let Ok(entries) = path.read_dir() else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let child = entry.path();
            // A link is judged by where it leads, when it is followed.
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
        // What has vanished or may not be opened needs no permission.
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

/// The rules in the form they are sent in.
pub(crate) fn encode(rules: &BTreeMap<PathBuf, Access>) -> Vec<(OsString, Access)> {
    rules
        .iter()
        .map(|(path, &access)| (path.into(), access))
        .collect()
}

/// A rule that takes away again inside a writable folder cannot be expressed.
pub(crate) fn reject_unenforceable(rules: &BTreeMap<PathBuf, Access>) -> Result<(), Error> {
    let above = |path: &Path| {
        path.ancestors()
            .skip(1)
            .find_map(|above| rules.get(above))
            .copied()
    };
    let lost = rules
        .iter()
        .find(|(path, access)| **access != Access::Write && above(path) == Some(Access::Write));
    match lost {
        Some((path, _)) => Err(Error::Path {
            path: path.clone(),
            problem:
                "cannot be kept from a process that may write around it: landlock has no such rule"
                    .into(),
        }),
        None => Ok(()),
    }
}
