//! Entry point of the crate: runs commands with a mechanism that works on this machine.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::child::{Child, Output, StartCheck};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::isolation::Isolation;
use crate::limits::LimitOverrides;
use crate::mechanism::Mechanism;
use crate::probe_record::{self, ProbeRecord};
use crate::profile::Profile;
use crate::spec::CommandSpec;
use crate::{init, launch};

/// How long the probe of a mechanism may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs commands with one isolation mechanism.
#[derive(Debug, Clone)]
pub struct Sandbox {
    isolation: Isolation,
    rejected: Vec<(Mechanism, String)>,
    /// What to check if a command does not start. `None` if this process probed the mechanism itself.
    unprobed: Option<Arc<UnprobedMechanism>>,
}

/// A mechanism that an earlier process has probed.
#[derive(Debug)]
struct UnprobedMechanism {
    sandbox: Sandbox,
    record: ProbeRecord,
}

impl StartCheck for UnprobedMechanism {
    /// Probes the mechanism now. If it does not work any more, returns that as an error, and the next process
    /// selects another one.
    fn check(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> {
        Box::pin(async move {
            self.record.remove();
            self.sandbox.probe().await?;
            self.record.write();
            Ok(())
        })
    }
}

impl Sandbox {
    /// Selects the strongest mechanism that works on this machine. Returns an error if none works,
    /// instead of falling back to no isolation.
    pub async fn detect(host: Host) -> Result<Self> {
        let mut rejected = Vec::new();
        for mechanism in [Mechanism::Bubblewrap, Mechanism::Landlock] {
            match Self::with_mechanism(host.clone(), mechanism).await {
                Ok(sandbox) => {
                    return Ok(Self {
                        rejected,
                        ..sandbox
                    });
                }
                Err(Error::NoIsolation { reason, .. }) => rejected.push((mechanism, reason)),
                Err(other) => return Err(other),
            }
        }
        let reasons: Vec<&str> = rejected.iter().map(|(_, reason)| reason.as_str()).collect();
        Err(Error::NoIsolation {
            mechanism: Mechanism::None,
            reason: format!(
                "{}: until this is fixed, only mechanism `none` can run commands",
                reasons.join("; ")
            ),
        })
    }

    /// Uses this mechanism only, after probing it with a command that does nothing. That is skipped if an
    /// earlier process did it in the same circumstances since the machine was started.
    ///
    /// [`Mechanism::None`] must be requested explicitly by a user who knows its consequences.
    pub async fn with_mechanism(host: Host, mechanism: Mechanism) -> Result<Self> {
        init::sweep(&host.cleanup_records());
        let mut sandbox = Self {
            isolation: Isolation {
                mechanism,
                init: init::program()?,
                bwrap: PathBuf::new(),
                unshare: PathBuf::new(),
                limits: LimitOverrides::default(),
                host,
            },
            rejected: Vec::new(),
            unprobed: None,
        };
        if mechanism == Mechanism::Bubblewrap {
            sandbox.isolation.bwrap = sandbox.find("bwrap", "bubblewrap")?;
            sandbox.isolation.unshare = sandbox.find("unshare", "util-linux")?;
        }
        if mechanism == Mechanism::None {
            return Ok(sandbox);
        }
        match ProbeRecord::new(&sandbox.isolation) {
            Some(record) if record.exists() => {
                let unprobed = UnprobedMechanism {
                    sandbox: sandbox.clone(),
                    record,
                };
                sandbox.unprobed = Some(Arc::new(unprobed));
            }
            record => {
                sandbox.probe().await?;
                if let Some(record) = record {
                    record.write();
                }
            }
        }
        Ok(sandbox)
    }

    /// Makes the next sandbox on this host probe its mechanism, whatever earlier processes found.
    pub fn forget_probes(host: &Host) {
        probe_record::remove_all(host);
    }

    /// Replaces the default limits of every profile.
    pub fn with_limits(mut self, limits: LimitOverrides) -> Self {
        self.isolation.limits = limits;
        self
    }

    /// Returns the active mechanism.
    pub fn mechanism(&self) -> Mechanism {
        self.isolation.mechanism
    }

    /// Returns the stronger mechanisms that do not work here, with the reasons.
    pub fn rejected_mechanisms(&self) -> &[(Mechanism, String)] {
        &self.rejected
    }

    /// Returns the host. Commands are isolated from its environment and home directory.
    pub fn host(&self) -> &Host {
        &self.isolation.host
    }

    /// Starts a command. Call it within a Tokio runtime.
    pub fn spawn(&self, spec: CommandSpec) -> Result<Child> {
        let mut child = launch::launch(&self.isolation, spec)?;
        let unprobed = self.unprobed.clone();
        child.start_check = unprobed.map(|unprobed| unprobed as Arc<dyn StartCheck>);
        Ok(child)
    }

    /// Runs a command to completion and returns its output, within the limits.
    pub async fn run(&self, spec: CommandSpec) -> Result<Output> {
        self.spawn(spec)?.output().await
    }

    fn find(&self, program: &str, package: &str) -> Result<PathBuf> {
        Host::find(self.isolation.host.path(), program.as_ref()).ok_or_else(|| {
            self.missing(format!(
                "{program} is not installed: install the package {package}"
            ))
        })
    }

    /// Runs a command that does nothing on the normal path: if it works, other commands work too.
    async fn probe(&self) -> Result<()> {
        // The only program with the same path everywhere.
        let shell = CommandSpec::new("/bin/sh", Path::new("/"), Profile::tool()).args(["-c", ":"]);
        let spec = shell.deadline(PROBE_TIMEOUT);
        let output = match self.run(spec).await {
            Ok(output) => output,
            Err(Error::Start { problem, .. }) => return Err(self.missing(problem)),
            Err(other) => return Err(other),
        };
        if output.exit.success() {
            return Ok(());
        }
        let stderr = output.stderr.text();
        let stderr = stderr.trim().lines().next().unwrap_or("no reason given");
        let is_refused = ["unshare:", "namespace", "uid map", "uid_map"]
            .iter()
            .any(|part| stderr.contains(part));
        let hint = match self.isolation.mechanism {
            Mechanism::Bubblewrap if is_refused => ": allow unprivileged user namespaces",
            _ => "",
        };
        Err(self.missing(format!(
            "{} does not work here: {stderr}{hint}",
            self.isolation.mechanism
        )))
    }

    fn missing(&self, reason: String) -> Error {
        Error::NoIsolation {
            mechanism: self.isolation.mechanism,
            reason,
        }
    }
}
