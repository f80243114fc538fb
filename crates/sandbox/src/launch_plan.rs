//! Turns a [`CommandSpec`] into a request to the init process: the program, its file policy and its
//! environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::fs_policy::{Access, FsPolicy};
use crate::init_protocol::{
    CleanupItem, CleanupPlan, Confinement, InitRequest, KillScope, PortRule,
};
use crate::isolation::Isolation;
use crate::mechanism::Mechanism;
use crate::network::{Network, NetworkPlan, Upstream};
use crate::profile::ProfileKind;
use crate::program::Program;
use crate::seccomp::{CallFilter, Sockets};
use crate::spec::CommandSpec;
use crate::{bubblewrap, confine, environment, init, path_lists, program, protect};

/// All decisions about a launch. Creating a plan has no effect except that it creates the private
/// directories.
#[derive(Debug)]
pub(crate) struct LaunchPlan {
    /// The command line of the init process.
    pub(crate) init: Vec<OsString>,
    pub(crate) request: InitRequest,
    /// The hosts that a process in a namespace can reach, and the user's proxy.
    pub(crate) network: Option<(NetworkPlan, Option<Upstream>)>,
    scratch: Option<TempDir>,
}

impl LaunchPlan {
    pub(crate) fn new(isolation: &Isolation, spec: &CommandSpec) -> Result<Self> {
        reject_nul(spec)?;
        let mut policy = FsPolicy::new(&spec.profile, &isolation.host, &spec.cwd)?;
        let dirs = PrivateDirs::new(isolation, &policy)?;
        let mut variables = environment::compose(&policy, &isolation.host, &dirs.home, &dirs.tmp);
        let network = network_plan(isolation, &policy)?;
        if let Some(network) = &network {
            network.set_variables(&mut variables);
        }
        variables.extend(spec.variables.clone());
        let path = variables
            .get(OsStr::new("PATH"))
            .map(OsString::as_os_str)
            .unwrap_or_default();
        let program = program::resolve(&spec.program, path, &policy.cwd)?;
        if isolation.mechanism != Mechanism::None {
            show_programs(&program, spec, path, &mut policy)?;
        }
        let mut request = InitRequest {
            argv: std::iter::once(program.path.into())
                .chain(spec.args.iter().cloned())
                .collect(),
            data: Vec::new(),
            variables: variables.into_iter().collect(),
            cwd: policy.cwd.clone().into(),
            scope: KillScope::Descendants,
            listen: None,
            confinement: None,
            limits: isolation.limits.apply(policy.kind),
            private_dirs: Vec::new(),
            written_dirs: written_dirs(&policy, &dirs),
            cleanup: CleanupPlan {
                working_dir: None,
                items: dirs.cleanup_items(),
            },
            record: None,
        };
        let mut init = vec![isolation.init.clone().into(), init::INIT_ARG.into()];
        match isolation.mechanism {
            Mechanism::Bubblewrap => {
                use_bubblewrap(isolation, &policy, network.as_ref(), &mut request)?;
                let is_open = request.listen.is_none();
                init.splice(..0, bubblewrap::unshare_args(&isolation.unshare, is_open));
            }
            Mechanism::Landlock => {
                request.confinement = Some(confinement(isolation, &policy, &dirs)?)
            }
            Mechanism::None => {}
        }
        if !request.cleanup.items.is_empty() {
            request.record = isolation.host.new_cleanup_record().map(Into::into);
        }
        Ok(Self {
            init,
            request,
            network: network.map(|network| (network, Upstream::from_host(&isolation.host))),
            scratch: dirs.scratch,
        })
    }

    /// Leaves the private directories to the init process, which removes them at the end.
    pub(crate) fn release_dirs(self) {
        if let Some(scratch) = self.scratch {
            let _ = scratch.keep();
        }
    }
}

/// Makes the program visible, with the other programs and the files that the profile names.
fn show_programs(
    program: &Program,
    spec: &CommandSpec,
    path: &OsStr,
    policy: &mut FsPolicy,
) -> Result<()> {
    program::show(program, policy);
    let others = spec.profile.programs.iter();
    let others: Vec<Program> = others
        .filter_map(|name| program::resolve(name, path, &policy.cwd).ok())
        .collect();
    for other in others {
        program::show(&other, policy);
    }
    for argument in &spec.profile.arguments {
        program::show_argument(argument, policy);
    }
    program::ensure_visible(&program.path, policy)
}

/// Starts the command through bubblewrap, in new namespaces.
fn use_bubblewrap(
    isolation: &Isolation,
    policy: &FsPolicy,
    network: Option<&NetworkPlan>,
    request: &mut InitRequest,
) -> Result<()> {
    let protected = protect::protected_paths(policy);
    let bwrap = bubblewrap::bwrap_args(
        &isolation.bwrap,
        policy,
        &protected,
        &request.limits,
        network,
    )?;
    request.argv.splice(..0, bwrap.args);
    request.data = bwrap.data;
    request.private_dirs = bwrap.private_dirs;
    request.cwd = "/".into();
    request.scope = KillScope::Namespace;
    request.cleanup.working_dir = policy.protected_dir.clone().map(Into::into);
    let items = protect::cleanup_items(&protected);
    request.cleanup.items.extend(items);
    if policy.network != Network::Open {
        request.listen = Some(
            network
                .into_iter()
                .flat_map(NetworkPlan::listeners)
                .collect(),
        );
    }
    Ok(())
}

/// The home directory and temporary directory of a process.
struct PrivateDirs {
    home: PathBuf,
    tmp: PathBuf,
    scratch: Option<TempDir>,
}

impl PrivateDirs {
    /// Bubblewrap mounts empty directories over the usual paths; without it, real directories are
    /// created elsewhere.
    fn new(isolation: &Isolation, policy: &FsPolicy) -> Result<Self> {
        let real_home = isolation.host.home().to_owned();
        if isolation.mechanism == Mechanism::Bubblewrap {
            let tmp = temp_dir(policy);
            return Ok(Self {
                home: if real_home.is_dir() {
                    real_home
                } else {
                    tmp.clone()
                },
                tmp,
                scratch: None,
            });
        }
        let usual = isolation
            .host
            .variable("TMPDIR")
            .map_or_else(|| "/tmp".into(), PathBuf::from);
        let created = tempfile::Builder::new()
            .prefix("windlass-")
            .tempdir_in(&usual)
            .and_then(|scratch| {
                std::fs::create_dir(scratch.path().join("home"))?;
                std::fs::create_dir(scratch.path().join("tmp"))?;
                Ok(scratch)
            });
        let scratch = created.map_err(|error| Error::Path {
            path: usual,
            problem: format!("cannot create a private directory here: {error}"),
        })?;
        Ok(Self {
            home: if policy.kind == ProfileKind::Agent {
                real_home
            } else {
                scratch.path().join("home")
            },
            tmp: scratch.path().join("tmp"),
            scratch: Some(scratch),
        })
    }

    fn cleanup_items(&self) -> Vec<CleanupItem> {
        self.scratch
            .iter()
            .map(|scratch| CleanupItem::PrivateDir(scratch.path().into()))
            .collect()
    }
}

/// Returns the temporary directory for `TMPDIR`: if possible one with no writable path under it.
/// Some programs refuse to use a state directory below their temporary directory.
fn temp_dir(policy: &FsPolicy) -> PathBuf {
    let is_written_below = |dir: &Path| {
        let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let mut below = policy
            .rules
            .iter()
            .filter(|(path, _)| path.starts_with(&real));
        below.any(|(_, access)| *access == Access::Write)
    };
    let mut dirs = path_lists::TEMP_DIRS.iter().map(Path::new);
    let unused = dirs.find(|dir| dir.is_dir() && !is_written_below(dir));
    unused.unwrap_or(Path::new("/tmp")).to_owned()
}

/// Returns the directories on disk that the process can write to.
fn written_dirs(policy: &FsPolicy, dirs: &PrivateDirs) -> Vec<OsString> {
    let writable = policy
        .rules
        .iter()
        .filter(|(_, access)| **access == Access::Write);
    let scratch = dirs.scratch.iter().map(|scratch| scratch.path().into());
    writable
        .map(|(path, _)| path.clone().into())
        .chain(scratch)
        .collect()
}

/// Returns the network of a process that has allowed hosts, where a namespace can enforce them.
fn network_plan(isolation: &Isolation, policy: &FsPolicy) -> Result<Option<NetworkPlan>> {
    match (&policy.network, isolation.mechanism) {
        (Network::Hosts(rules), Mechanism::Bubblewrap) => NetworkPlan::new(rules).map(Some),
        _ => Ok(None),
    }
}

/// Returns the ports that a process under Landlock may connect to. The user's own proxy is one of
/// them, because the process has to use it.
fn port_rule(isolation: &Isolation, network: &Network) -> PortRule {
    match network {
        Network::None => PortRule::None,
        Network::Open => PortRule::Any,
        Network::Hosts(rules) => {
            let proxy = Upstream::from_host(&isolation.host).map(|proxy| proxy.port());
            PortRule::Only(rules.iter().map(|rule| rule.port).chain(proxy).collect())
        }
    }
}

fn confinement(
    isolation: &Isolation,
    policy: &FsPolicy,
    dirs: &PrivateDirs,
) -> Result<Confinement> {
    let mut rules = policy.rules.clone();
    if let Some(scratch) = &dirs.scratch {
        let real = scratch
            .path()
            .canonicalize()
            .unwrap_or_else(|_| scratch.path().to_owned());
        rules.insert(real, Access::Write);
    }
    confine::reject_unenforceable(&rules)?;
    Ok(Confinement {
        rules: confine::encode(&rules),
        network: port_rule(isolation, &policy.network),
        calls: CallFilter::from(policy.kind),
        sockets: match policy.kind {
            _ if policy.network != Network::None => Sockets::Any,
            ProfileKind::Agent => Sockets::UnixOnly,
            ProfileKind::Tool | ProfileKind::Test => Sockets::None,
        },
    })
}

fn reject_nul(spec: &CommandSpec) -> Result<()> {
    let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
    let reject = |what: String| Err(Error::Nul { what });
    if has_nul(&spec.program) {
        return reject("the program's name".into());
    }
    if let Some(index) = spec.args.iter().position(|arg| has_nul(arg)) {
        return reject(format!("argument {}", index + 1));
    }
    match spec
        .variables
        .iter()
        .find(|(name, value)| has_nul(name) || has_nul(value))
    {
        Some((name, _)) => reject(format!("variable {}", name.display())),
        None => Ok(()),
    }
}
