//! `git http-backend` as a CGI program.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;
use windlass_sandbox::{Child, CommandSpec, ProcessLimits, Profile, Stdin};
use windlass_server::{
    GitRequest, GitRequestBody, GitResponseBody, GitService, GitStep, HostOpsError,
};
use windlass_workspace::{SAFE_SETTINGS, SAFE_VARIABLES};

use super::repository::{PushLock, ServedRepository};
use super::{GitRepositories, internal};
use crate::cli::exit::CliError;

/// Time limit of one request: a clone of a large repository over a slow line.
const DEADLINE: Duration = Duration::from_secs(30 * 60);
/// How much of the messages of git is kept for the log.
const MESSAGE_BYTES: usize = 16 << 10;
/// The maximum number of header lines of git's response.
const MAX_HEADERS: usize = 50;

/// Further settings of every command, most of which limit what one request costs.
const SETTINGS: &[&str] = &[
    // A push that was confirmed survives a loss of power.
    "core.fsync=committed",
    "core.fsyncMethod=batch",
    "gc.autoDetach=false",
    "pack.threads=2",
    "pack.windowMemory=256m",
    "http.receivepack=true",
    "http.uploadpack=true",
    "http.getanyfile=false",
    "receive.fsckObjects=true",
    "receive.autogc=false",
    "receive.advertisePushOptions=false",
    // A little less than a file of this profile may have.
    "receive.maxInputSize=2000000000",
    "uploadpack.allowFilter=true",
];

/// Adds what all commands have in common.
pub(super) fn with_settings(mut spec: CommandSpec) -> CommandSpec {
    for setting in SAFE_SETTINGS.iter().chain(SETTINGS) {
        spec = spec.arg("-c").arg(*setting);
    }
    for (name, value) in SAFE_VARIABLES {
        spec = spec.env(name, value);
    }
    spec
}

impl GitRepositories {
    /// Fails if git's program for web servers is not installed.
    pub(super) async fn check_backend(&self) -> Result<(), CliError> {
        let spec = CommandSpec::new("git", "/", Profile::tool().programs_only()).arg("--exec-path");
        let output = self.sandbox.run(spec).await;
        let output = output.map_err(|error| CliError::failed(error.to_string()))?;
        let dir = output.stdout.text();
        if output.exit.success() && Path::new(dir.trim()).join("git-http-backend").is_file() {
            return Ok(());
        }
        Err(CliError::usage(
            "git http-backend is not installed, which --git needs: install all of git (on some systems, it is in the package \
             git-daemon)",
        ))
    }

    /// Runs a request, and returns its output without the headers. After a push, the repository is maintained.
    pub(super) async fn run_backend(
        &self,
        repository: &ServedRepository,
        request: GitRequest,
        lock: Option<PushLock>,
        after: Option<(Self, ServedRepository)>,
    ) -> Result<GitResponseBody, HostOpsError> {
        let spec = self.spec(repository, &request)?;
        let child = self.sandbox.spawn(spec).map_err(internal)?;
        let mut running = Running {
            child: Some(child),
            lock,
            after,
        };
        if let GitStep::Exchange(input) = request.step {
            running.feed(input)?;
        }
        running.read_headers().await?;
        let parts = futures::stream::unfold(Some(running), async |running| {
            let mut running = running?;
            match running.next_part().await {
                Ok(Some(part)) => Some((Ok(part), Some(running))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(parts.boxed())
    }

    fn spec(
        &self,
        repository: &ServedRepository,
        request: &GitRequest,
    ) -> Result<CommandSpec, HostOpsError> {
        let service = request.service;
        let profile = Profile::tool().programs_only();
        let profile = match service {
            GitService::Fetch => profile.read(&repository.dir),
            GitService::Push => profile.write(&repository.dir),
        };
        let name = repository
            .dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let (method, path, query) = match &request.step {
            GitStep::ListRefs => ("GET", "info/refs", format!("service={}", service.name())),
            GitStep::Exchange(_) => ("POST", service.name(), String::new()),
        };
        let spec = with_settings(CommandSpec::new("git", "/", profile))
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.dir)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", method)
            .env("PATH_INFO", format!("/{name}/{path}"))
            .env("QUERY_STRING", query)
            .env(
                "CONTENT_TYPE",
                format!("application/x-{}-request", service.name()),
            )
            .env("GIT_PROTOCOL", request.protocol.clone().unwrap_or_default())
            .limits(ProcessLimits {
                deadline: DEADLINE,
                output_bytes: MESSAGE_BYTES,
                ..ProcessLimits::default()
            });
        Ok(match &request.step {
            GitStep::ListRefs => spec,
            GitStep::Exchange(_) => spec.stdin(Stdin::Pipe),
        })
    }
}

/// A request that git works on. If it is dropped, git is asked to stop, so that it removes its locks, and killed soon after.
struct Running {
    child: Option<Child>,
    lock: Option<PushLock>,
    after: Option<(GitRepositories, ServedRepository)>,
}

impl Running {
    fn child(&mut self) -> io::Result<&mut Child> {
        let ended = || io::Error::other("git has ended");
        self.child.as_mut().ok_or_else(ended)
    }

    /// Writes the body of the request to git in the background. If it is not complete, git is stopped.
    fn feed(&mut self, mut input: GitRequestBody) -> Result<(), HostOpsError> {
        let child = self.child().map_err(internal)?;
        let control = child.control();
        let mut stdin = child
            .stdin
            .take()
            .ok_or_else(|| internal("git has no input"))?;
        tokio::spawn(async move {
            let write = async {
                while let Some(part) = input.next().await {
                    match part {
                        Ok(part) => {
                            if stdin.write_all(&part).await.is_err() {
                                // git has ended, or wants no more.
                                return;
                            }
                        }
                        Err(_) => {
                            control.stop();
                            // Its input ends only after it has ended: it must not take a part for the whole.
                            control.ended().await;
                            return;
                        }
                    }
                }
            };
            tokio::select! {
                () = write => {}
                () = control.ended() => {}
            }
        });
        Ok(())
    }

    /// Reads the headers of git's response. Another status than 200 is an error.
    async fn read_headers(&mut self) -> Result<(), HostOpsError> {
        let mut status = None;
        for _ in 0..MAX_HEADERS {
            let child = self.child().map_err(internal)?;
            let Some(line) = child.stdout.next().await.map_err(internal)? else {
                return Err(self.failure("git gave no response").await);
            };
            let line = line.text();
            if line.is_empty() {
                return match status {
                    None => Ok(()),
                    Some(status) => Err(self.failure(&format!("git answered {status}")).await),
                };
            }
            if let Some(value) = line.strip_prefix("Status: ") {
                status = Some(value.to_owned()).filter(|value| !value.starts_with("200"));
            }
        }
        Err(internal("git's response has too many headers"))
    }

    /// Returns the next part of the output. At the end, git must have succeeded.
    async fn next_part(&mut self) -> io::Result<Option<Bytes>> {
        let child = self.child()?;
        let part = child.stdout.next_bytes().await?;
        if !part.is_empty() {
            return Ok(Some(Bytes::copy_from_slice(part)));
        }
        let exit = child.wait().await.map_err(io::Error::other)?;
        if !exit.success() {
            let why = child.stderr().text();
            tracing::debug!(code = exit.code, reason = ?exit.reason, why = %why.trim(), "git failed");
            return Err(io::Error::other(format!("git exited with {}", exit.code)));
        }
        self.child = None;
        self.lock = None;
        if let Some((repositories, repository)) = self.after.take() {
            tokio::spawn(repositories.after_push(repository));
        }
        Ok(None)
    }

    /// Returns an error with what git printed.
    async fn failure(&mut self, what: &str) -> HostOpsError {
        let Some(mut child) = self.child.take() else {
            return internal(what);
        };
        child.stop();
        let exit = child.wait().await;
        let exit = exit.map_or_else(
            |error| error.to_string(),
            |exit| format!("{:?}", exit.reason),
        );
        HostOpsError::Internal(format!("{what} ({exit}): {}", child.stderr().text().trim()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.stop();
            let lock = self.lock.take();
            // Without a runtime, the process ends, and git with it.
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move {
                    let _ = child.wait().await;
                    drop(lock);
                });
            }
        }
    }
}
