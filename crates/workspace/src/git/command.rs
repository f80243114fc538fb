//! One git command: its settings, sandbox, limits and output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use windlass_sandbox::{
    CappedOutput, CommandSpec, ExitReason, Mechanism, ProcessLimits, Profile, Sandbox, Stdin,
};

use super::known_objects::KnownObjects;
use super::safe_settings::{SAFE_SETTINGS, SAFE_VARIABLES};
use crate::error::{Error, Result};

/// Time limit of one command: a checkout of a very large repository.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Default limit of the retained output.
const OUTPUT_BYTES: usize = 8 << 20;

/// Further settings of every command.
const SETTINGS: &[&str] = &[
    "core.untrackedCache=false",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "sequence.editor=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "advice.addEmbeddedRepo=false",
];

/// Further variables of every command.
const VARIABLES: &[(&str, &str)] = &[("GIT_OPTIONAL_LOCKS", "0"), ("GIT_LITERAL_PATHSPECS", "1")];

/// The author of Windlass's commits, unless another one is configured.
const NAME: &str = "Windlass";
const EMAIL: &str = "windlass@localhost";

/// Creates git commands.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    sandbox: Sandbox,
    /// A private directory to start in by default.
    base: PathBuf,
    name: String,
    email: String,
    known: Arc<KnownObjects>,
    /// For commands that need no sandbox.
    unsandboxed: Arc<OnceCell<Sandbox>>,
}

impl Git {
    pub(crate) fn new(sandbox: Sandbox, base: PathBuf) -> Self {
        Self {
            sandbox,
            base,
            name: NAME.into(),
            email: EMAIL.into(),
            known: Arc::default(),
            unsandboxed: Arc::default(),
        }
    }

    /// Returns what earlier commands found out about objects.
    pub(crate) fn known(&self) -> &KnownObjects {
        &self.known
    }

    /// Uses this author for commits.
    pub(crate) fn with_author(mut self, name: String, email: String) -> Self {
        self.name = name;
        self.email = email;
        self
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Creates a command for the git directory `git_dir` that may write to `dir`, a private directory.
    ///
    /// It does not start there: in the working directory of a process, the sandbox protects everything that another
    /// program would apply later, with a mount for each path. Nothing but Windlass uses a private directory.
    pub(crate) fn command(&self, git_dir: &Path, dir: &Path) -> GitCommand<'_> {
        let mut git_dir_arg = OsString::from("--git-dir=");
        git_dir_arg.push(git_dir);
        GitCommand {
            git: self,
            dir: dir.to_owned(),
            args: vec![git_dir_arg],
            variables: Vec::new(),
            profile: Profile::tool().programs_only().write(dir),
            sandboxed: true,
            input: Vec::new(),
            output_bytes: OUTPUT_BYTES,
        }
    }

    /// Returns the sandbox for a command.
    async fn sandbox(&self, sandboxed: bool) -> Result<&Sandbox> {
        if sandboxed {
            return Ok(&self.sandbox);
        }
        let host = self.sandbox.host();
        let sandbox = || Sandbox::with_mechanism(host.clone(), Mechanism::None);
        Ok(self.unsandboxed.get_or_try_init(sandbox).await?)
    }

    /// Returns the command line with everything that all commands have in common. In a script, it is
    /// `"$@"` after `git`.
    fn spec(&self, profile: Profile, script: Option<&str>) -> CommandSpec {
        let mut spec = match script {
            None => CommandSpec::new("git", "/", profile),
            Some(script) => {
                let spec = CommandSpec::new("sh", "/", profile.program("git"));
                spec.arg("-c").arg(script).arg("sh")
            }
        };
        for setting in SAFE_SETTINGS.iter().chain(SETTINGS) {
            spec = spec.arg("-c").arg(*setting);
        }
        for (name, value) in SAFE_VARIABLES.iter().chain(VARIABLES) {
            spec = spec.env(name, value);
        }
        for role in ["AUTHOR", "COMMITTER"] {
            spec = spec
                .env(format!("GIT_{role}_NAME"), &self.name)
                .env(format!("GIT_{role}_EMAIL"), &self.email);
        }
        spec
    }
}

/// A command being built.
#[derive(Debug)]
pub(crate) struct GitCommand<'a> {
    git: &'a Git,
    dir: PathBuf,
    args: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    profile: Profile,
    sandboxed: bool,
    input: Vec<u8>,
    output_bytes: usize,
}

impl GitCommand<'_> {
    /// Sets the work tree that git compares with.
    pub(crate) fn work_tree(mut self, dir: &Path) -> Self {
        let mut arg = OsString::from("--work-tree=");
        arg.push(dir);
        self.args.push(arg);
        self
    }

    /// Uses this index instead of the git directory's own.
    pub(crate) fn index(mut self, file: &Path) -> Self {
        self.variables.push(("GIT_INDEX_FILE", file.into()));
        self
    }

    /// Uses this date for a commit.
    pub(crate) fn date(mut self, date: &str) -> Self {
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            self.variables.push((name, date.into()));
        }
        self
    }

    /// Sets a variable for a script.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Writes objects to `into`, and also reads those of `from`.
    pub(crate) fn objects(mut self, into: &Path, from: &Path) -> Self {
        let variables = [
            ("GIT_OBJECT_DIRECTORY", into.into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", from.into()),
        ];
        self.variables.extend(variables);
        self
    }

    /// Makes these directories readable even if they are hidden.
    pub(crate) fn read<'p>(mut self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        for path in paths {
            self.profile = self.profile.read(path);
        }
        self
    }

    /// Makes a path writable.
    pub(crate) fn write(mut self, path: &Path) -> Self {
        self.profile = self.profile.write(path);
        self
    }

    /// Runs git without a sandbox, which would take longer to set up than git runs. Only for commands that
    /// read nothing but a private directory and objects: neither contains anything that git
    /// executes. Environment and settings are as for every command.
    pub(crate) fn unsandboxed(mut self) -> Self {
        self.sandboxed = false;
        self
    }

    /// Sets git's standard input.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Sets how much of the output is retained.
    pub(crate) fn max_output(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Runs git with these arguments, and accepts any exit code.
    pub(crate) async fn output(self, args: &[&str]) -> Result<GitOutput> {
        let what = args.first().copied().unwrap_or_default();
        self.start(what, None, args).await
    }

    /// Runs a shell script, and accepts any exit code. `what` is the command that errors name.
    ///
    /// The script calls `git "$@"` several times: together they need one sandbox and one supervisor.
    /// Values reach it as variables, never as a part of its text.
    pub(crate) async fn script(self, what: &str, script: &'static str) -> Result<GitOutput> {
        self.start(what, Some(script), &[]).await
    }

    async fn start(self, what: &str, script: Option<&str>, args: &[&str]) -> Result<GitOutput> {
        let what = what.to_owned();
        let limits = ProcessLimits {
            deadline: TIMEOUT,
            output_bytes: self.output_bytes,
            ..ProcessLimits::default()
        };
        let mut spec = self.git.spec(self.profile, script);
        for (name, value) in self.variables {
            spec = spec.env(name, value);
        }
        let spec = spec
            .args(self.args)
            .args(args.iter().copied())
            .stdin(Stdin::Bytes(self.input))
            .limits(limits);
        let sandbox = self.git.sandbox(self.sandboxed).await?;
        let output = sandbox.run(spec).await?;
        if output.exit.reason == ExitReason::Deadline {
            return Err(Error::Timeout {
                what: format!("git {what}"),
                after: TIMEOUT,
            });
        }
        Ok(GitOutput {
            what,
            dir: self.dir,
            code: output.exit.code,
            stdout: output.stdout,
            stderr: output.stderr.text(),
        })
    }

    /// Runs git with these arguments; a non-zero exit code is an error.
    pub(crate) async fn run(self, args: &[&str]) -> Result<GitOutput> {
        self.output(args).await?.check()
    }
}

/// The output of a git command.
#[derive(Debug)]
pub(crate) struct GitOutput {
    what: String,
    dir: PathBuf,
    pub(crate) code: i32,
    pub(crate) stdout: CappedOutput,
    pub(crate) stderr: String,
}

impl GitOutput {
    /// Returns the output as trimmed text.
    pub(crate) fn text(&self) -> String {
        self.stdout.text().trim().to_owned()
    }

    /// Splits the output at NUL bytes. Returns an error if the output was truncated.
    pub(crate) fn nul_separated(&self) -> Result<Vec<String>> {
        if self.stdout.is_truncated() {
            return Err(Error::Git {
                what: self.what.clone(),
                message: "too many files in the output".into(),
            });
        }
        let text = self.stdout.text();
        Ok(text
            .split('\0')
            .filter(|field| !field.is_empty())
            .map(str::to_owned)
            .collect())
    }

    pub(crate) fn check(self) -> Result<Self> {
        if self.code == 0 {
            return Ok(self);
        }
        Err(self.into_error())
    }

    /// Converts a failed command into an error.
    pub(crate) fn into_error(self) -> Error {
        // Often git does not give the reason: "couldn't close 'HEAD.lock'".
        if self.stderr.contains("No space left on device") {
            return Error::DiskFull { path: self.dir };
        }
        if let Some(full) = Error::of_full_disk(&self.dir) {
            return full;
        }
        let mut lines: Vec<&str> = self
            .stderr
            .lines()
            .map(|line| {
                let line = line.strip_prefix("fatal: ").unwrap_or(line);
                line.strip_prefix("error: ").unwrap_or(line).trim()
            })
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
            .take(3)
            .collect();
        let code = format!("exited with {}", self.code);
        if lines.is_empty() {
            lines.push(&code);
        }
        Error::Git {
            what: self.what,
            message: lines.join("; "),
        }
    }
}
