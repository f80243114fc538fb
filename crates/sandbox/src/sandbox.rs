//! The door: one mechanism, found to work on this machine, behind which every command is run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::child::{Child, ExitStatus};
use crate::error::{Error, Result};
use crate::head_tail::CappedOutput;
use crate::host::Host;
use crate::mechanism::Mechanism;
use crate::profile::Profile;
use crate::spec::CommandSpec;
use crate::{init, launch};

/// How long a mechanism may take to show that it works.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a command said and how it ended.
#[derive(Debug, Clone)]
pub struct Output {
    /// Standard output, within its limit.
    pub stdout: CappedOutput,
    /// Standard error, within its limit.
    pub stderr: CappedOutput,
    /// How it ended.
    pub exit: ExitStatus,
}

/// Runs commands behind one mechanism.
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub(crate) mechanism: Mechanism,
    pub(crate) host: Host,
    pub(crate) init: PathBuf,
    pub(crate) bwrap: PathBuf,
    pub(crate) unshare: PathBuf,
    passed_over: Vec<(Mechanism, String)>,
}

impl Sandbox {
    /// The strongest mechanism that works here; an error, and not a weaker promise, if none does.
    pub async fn detect(host: Host) -> Result<Self> {
        let mut passed_over = Vec::new();
        for mechanism in [Mechanism::Bubblewrap, Mechanism::Landlock] {
            match Self::with_mechanism(host.clone(), mechanism).await {
                Ok(found) => {
                    return Ok(Self {
                        passed_over,
                        ..found
                    });
                }
                Err(Error::NoIsolation { reason, .. }) => passed_over.push((mechanism, reason)),
                Err(other) => return Err(other),
            }
        }
        let reasons: Vec<&str> = passed_over
            .iter()
            .map(|(_, reason)| reason.as_str())
            .collect();
        Err(Error::NoIsolation {
            mechanism: Mechanism::None,
            reason: format!(
                "{}: until then only an unsafe mode can run this",
                reasons.join("; ")
            ),
        })
    }

    /// This mechanism and no other, tried out on a command that does nothing.
    ///
    /// [`Mechanism::None`] is for those who were told what it means.
    pub async fn with_mechanism(host: Host, mechanism: Mechanism) -> Result<Self> {
        init::sweep(&host.cleanup_records());
        let mut sandbox = Self {
            mechanism,
            init: init::program()?,
            bwrap: PathBuf::new(),
            unshare: PathBuf::new(),
            host,
            passed_over: Vec::new(),
        };
        if mechanism == Mechanism::Bubblewrap {
            sandbox.bwrap = sandbox.find("bwrap", "bubblewrap")?;
            sandbox.unshare = sandbox.find("unshare", "util-linux")?;
        }
        if mechanism != Mechanism::None {
            sandbox.probe().await?;
        }
        Ok(sandbox)
    }

    /// What is in force.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// What would have been stronger, and why it is not in force.
    pub fn rejected_mechanisms(&self) -> &[(Mechanism, String)] {
        &self.passed_over
    }

    /// The machine whose environment and home folder the commands are kept from.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Starts a command. Call it within a tokio runtime.
    pub fn spawn(&self, spec: CommandSpec) -> Result<Child> {
        launch::launch(self, spec)
    }

    /// Runs a command to its end and keeps what it says, within its limits.
    pub async fn run(&self, spec: CommandSpec) -> Result<Output> {
        let limit = spec.limits.output_bytes;
        let mut child = self.spawn(spec)?;
        let (stdout, exit) = child.output(limit).await?;
        Ok(Output {
            stdout,
            stderr: child.stderr(),
            exit,
        })
    }

    fn find(&self, program: &str, package: &str) -> Result<PathBuf> {
        Host::find(self.host.path(), program.as_ref()).ok_or_else(|| {
            self.missing(format!(
                "{program} is not installed: install the package {package}"
            ))
        })
    }

    /// The real way, for a command that does nothing: what works for it works for others.
    async fn probe(&self) -> Result<()> {
        // The one program that is at the same place everywhere.
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
        let said = output.stderr.text();
        let said = said.trim().lines().next().unwrap_or("no reason given");
        let hint = match self.mechanism {
            Mechanism::Bubblewrap => ": allow unprivileged user namespaces",
            _ => "",
        };
        Err(self.missing(format!(
            "{} does not work here: {said}{hint}",
            self.mechanism
        )))
    }

    fn missing(&self, reason: String) -> Error {
        Error::NoIsolation {
            mechanism: self.mechanism,
            reason,
        }
    }
}
