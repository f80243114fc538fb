//! From a spec to the orders for the init program: which program, in which view, with which
//! environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::fs_policy::{Access, FsPolicy};
use crate::init_protocol::{Cleanup, CleanupItem, Confinement, InitRequest, KillScope};
use crate::mechanism::Mechanism;
use crate::profile::ProfileKind;
use crate::sandbox::Sandbox;
use crate::spec::CommandSpec;
use crate::{bubblewrap, confine, environment, init, path_lists, program, protect};

/// Everything decided, nothing done but for the private folders.
#[derive(Debug)]
pub(crate) struct LaunchPlan {
    /// The init program with what comes before it.
    pub(crate) init: Vec<OsString>,
    pub(crate) orders: InitRequest,
    scratch: Option<TempDir>,
}

impl LaunchPlan {
    pub(crate) fn new(sandbox: &Sandbox, spec: &CommandSpec) -> Result<Self> {
        reject_nul(spec)?;
        let mut view = FsPolicy::new(&spec.profile, &sandbox.host, &spec.cwd)?;
        let places = PrivateDirs::new(sandbox, &view)?;
        let mut variables =
            environment::compose(view.kind, &sandbox.host, &places.home, &places.tmp);
        variables.extend(spec.variables.clone());
        let path = variables
            .get(OsStr::new("PATH"))
            .map(OsString::as_os_str)
            .unwrap_or_default();
        let program = program::resolve(&spec.program, path, &view.cwd)?;
        if sandbox.mechanism != Mechanism::None {
            program::show(&program, &mut view);
            let others = spec.profile.programs.iter();
            let others: Vec<PathBuf> = others
                .filter_map(|name| program::resolve(name, path, &view.cwd).ok())
                .collect();
            for other in others {
                program::show(&other, &mut view);
            }
            program::ensure_visible(&program, &view)?;
        }
        let mut orders = InitRequest {
            argv: std::iter::once(program.into())
                .chain(spec.args.iter().cloned())
                .collect(),
            variables: variables.into_iter().collect(),
            cwd: view.cwd.clone().into(),
            scope: KillScope::Descendants,
            walls: None,
            processes: spec.limits.processes,
            file_bytes: spec.limits.file_bytes,
            cleanup: Cleanup {
                working_dir: None,
                items: places.cleanup_items(),
            },
            record: None,
        };
        let mut init = vec![sandbox.init.clone().into(), init::INIT_ARG.into()];
        match sandbox.mechanism {
            Mechanism::Bubblewrap => {
                let covers = protect::protected_paths(&view);
                let walls = bubblewrap::bwrap_args(&sandbox.bwrap, &view, &covers);
                orders.argv.splice(..0, walls);
                orders.cwd = "/".into();
                orders.scope = KillScope::Namespace;
                orders.cleanup.working_dir = view.workplace.clone().map(Into::into);
                orders.cleanup.items.extend(protect::cleanup_items(&covers));
                init.splice(..0, bubblewrap::unshare_args(&sandbox.unshare));
            }
            Mechanism::Landlock => orders.walls = Some(confinement(&view, &places)?),
            Mechanism::None => {}
        }
        if !orders.cleanup.items.is_empty() {
            orders.record = sandbox.host.new_cleanup_record().map(Into::into);
        }
        Ok(Self {
            init,
            orders,
            scratch: places.scratch,
        })
    }

    /// Leaves the private folders to the init program, which removes them when all is over.
    pub(crate) fn release_dirs(self) {
        if let Some(scratch) = self.scratch {
            let _ = scratch.keep();
        }
    }
}

/// Where a process has its home and its temporary files.
struct PrivateDirs {
    home: PathBuf,
    tmp: PathBuf,
    scratch: Option<TempDir>,
}

impl PrivateDirs {
    /// Bubblewrap mounts empty folders over the usual places; otherwise there must be real ones
    /// elsewhere.
    fn new(sandbox: &Sandbox, view: &FsPolicy) -> Result<Self> {
        let real_home = sandbox.host.home().to_owned();
        if sandbox.mechanism == Mechanism::Bubblewrap {
            let tmp = temp_dir(view);
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
        let usual = sandbox
            .host
            .variable("TMPDIR")
            .map_or_else(|| "/tmp".into(), PathBuf::from);
        let made = tempfile::Builder::new()
            .prefix("windlass-")
            .tempdir_in(&usual)
            .and_then(|scratch| {
                std::fs::create_dir(scratch.path().join("home"))?;
                std::fs::create_dir(scratch.path().join("tmp"))?;
                Ok(scratch)
            });
        let scratch = made.map_err(|error| Error::Path {
            path: usual,
            problem: format!("no private folder can be made here: {error}"),
        })?;
        Ok(Self {
            home: if view.kind == ProfileKind::Agent {
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

/// Returns the temporary folder to name in `TMPDIR`: one that has nothing of the user in it, if
/// there is one. Some programs refuse to use a state folder below their temporary folder.
fn temp_dir(view: &FsPolicy) -> PathBuf {
    let is_written_below = |dir: &Path| {
        let mut below = view.rules.iter().filter(|(path, _)| path.starts_with(dir));
        below.any(|(_, access)| *access == Access::Write)
    };
    let mut dirs = path_lists::TEMP_DIRS.iter().map(Path::new);
    let unused = dirs.find(|dir| dir.is_dir() && !is_written_below(dir));
    unused.unwrap_or(Path::new("/tmp")).to_owned()
}

fn confinement(view: &FsPolicy, places: &PrivateDirs) -> Result<Confinement> {
    let mut rules = view.rules.clone();
    if let Some(scratch) = &places.scratch {
        let real = scratch
            .path()
            .canonicalize()
            .unwrap_or_else(|_| scratch.path().to_owned());
        rules.insert(real, Access::Write);
    }
    confine::reject_unenforceable(&rules)?;
    Ok(Confinement {
        rules: confine::encode(&rules),
        network: view.network,
        unix_sockets: view.kind == ProfileKind::Agent,
    })
}

fn reject_nul(spec: &CommandSpec) -> Result<()> {
    let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
    let refuse = |what: String| Err(Error::Nul { what });
    if has_nul(&spec.program) {
        return refuse("the program's name".into());
    }
    if let Some(at) = spec.args.iter().position(|arg| has_nul(arg)) {
        return refuse(format!("argument {}", at + 1));
    }
    match spec
        .variables
        .iter()
        .find(|(name, value)| has_nul(name) || has_nul(value))
    {
        Some((name, _)) => refuse(format!("variable {}", name.display())),
        None => Ok(()),
    }
}
