//! One call of git: its settings, its walls, its limits, and what it said.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_sandbox::{
    CappedOutput, CommandSpec, ExitReason, Mechanism, ProcessLimits, Profile, Sandbox, Stdin,
};

use crate::error::{Error, Result};

/// The longest that one call may take: a checkout of a very large repository.
const DEADLINE: Duration = Duration::from_secs(300);

/// What is kept of what git says.
const OUTPUT_BYTES: usize = 8 << 20;

/// Settings that name a program, and what they are set to. They stand before every command.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.askPass=",
    "core.alternateRefsCommand=",
    "core.pager=cat",
    "core.editor=false",
    "core.quotePath=false",
    "sequence.editor=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "advice.addEmbeddedRepo=false",
];

/// Variables for every call. Those of the user do not reach it: the environment starts empty.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C"),
];

/// Who signs our commits, unless somebody else is named.
const NAME: &str = "Windlass";
const EMAIL: &str = "windlass@localhost";

/// The way to git.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    sandbox: Sandbox,
    /// A folder of ours to start in, where no other is better.
    base: PathBuf,
    name: String,
    email: String,
}

impl Git {
    pub(crate) fn new(sandbox: Sandbox, base: PathBuf) -> Self {
        Self {
            sandbox,
            base,
            name: NAME.into(),
            email: EMAIL.into(),
        }
    }

    /// Signs commits with this name and address.
    pub(crate) fn with_author(mut self, name: String, email: String) -> Self {
        self.name = name;
        self.email = email;
        self
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// A call in the git folder `git_dir`, started in `cwd`, which it may write to.
    pub(crate) fn command(&self, git_dir: &Path, cwd: &Path) -> GitCommand<'_> {
        let mut git_dir_word = OsString::from("--git-dir=");
        git_dir_word.push(git_dir);
        GitCommand {
            git: self,
            cwd: cwd.to_owned(),
            words: vec![git_dir_word],
            variables: Vec::new(),
            profile: Profile::tool(),
            walls: true,
            input: Vec::new(),
            output_bytes: OUTPUT_BYTES,
        }
    }

    /// What holds a call in.
    async fn sandbox(&self, walls: bool) -> Result<Sandbox> {
        if walls {
            return Ok(self.sandbox.clone());
        }
        Ok(Sandbox::with_mechanism(self.sandbox.host().clone(), Mechanism::None).await?)
    }

    /// The command with all that every call has in common.
    fn spec(&self, cwd: &Path, profile: Profile) -> CommandSpec {
        let mut spec = CommandSpec::new("git", cwd, profile);
        for setting in SETTINGS {
            spec = spec.arg("-c").arg(*setting);
        }
        for (name, value) in VARIABLES {
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

/// A call being put together.
#[derive(Debug)]
pub(crate) struct GitCommand<'a> {
    git: &'a Git,
    cwd: PathBuf,
    words: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    profile: Profile,
    walls: bool,
    input: Vec<u8>,
    output_bytes: usize,
}

impl GitCommand<'_> {
    /// The files that git compares with, in this folder.
    pub(crate) fn work_tree(mut self, folder: &Path) -> Self {
        let mut word = OsString::from("--work-tree=");
        word.push(folder);
        self.words.push(word);
        self
    }

    /// Uses this index instead of the git folder's own.
    pub(crate) fn index(mut self, file: &Path) -> Self {
        self.variables.push(("GIT_INDEX_FILE", file.into()));
        self
    }

    /// Writes objects into `into`, and reads those of `from` as well.
    pub(crate) fn objects(mut self, into: &Path, from: &Path) -> Self {
        let variables = [
            ("GIT_OBJECT_DIRECTORY", into.into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", from.into()),
        ];
        self.variables.extend(variables);
        self
    }

    /// Lets git see these folders where they are hidden.
    pub(crate) fn read<'p>(mut self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        for path in paths {
            self.profile = self.profile.read(path);
        }
        self
    }

    /// Lets git write here besides.
    pub(crate) fn write(mut self, path: &Path) -> Self {
        self.profile = self.profile.write(path);
        self
    }

    /// Runs it without walls, which cost more than git itself. Only where git reads nothing but a folder of ours and
    /// objects: neither holds anything that it obeys. Its environment and its settings are as for every call.
    pub(crate) fn unsandboxed(mut self) -> Self {
        self.walls = false;
        self
    }

    /// What git reads on its standard input.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Keeps at most so much of what git says.
    pub(crate) fn max_output(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Runs a command of git with these arguments, and takes any exit code for an answer.
    pub(crate) async fn output(self, args: &[&str]) -> Result<GitOutput> {
        let what = args.first().copied().unwrap_or_default().to_owned();
        let limits = ProcessLimits {
            deadline: DEADLINE,
            output_bytes: self.output_bytes,
            ..ProcessLimits::default()
        };
        let mut spec = self.git.spec(&self.cwd, self.profile);
        for (name, value) in self.variables {
            spec = spec.env(name, value);
        }
        let spec = spec
            .args(self.words)
            .args(args.iter().copied())
            .stdin(Stdin::Bytes(self.input))
            .limits(limits);
        let sandbox = self.git.sandbox(self.walls).await?;
        let output = sandbox.run(spec).await?;
        if output.exit.why == ExitReason::Deadline {
            return Err(Error::Timeout {
                what: format!("git {what}"),
                after: DEADLINE,
            });
        }
        Ok(GitOutput {
            what,
            at: self.cwd,
            code: output.exit.code,
            stdout: output.stdout,
            stderr: output.stderr.text(),
        })
    }

    /// Runs a command of git that must succeed.
    pub(crate) async fn run(self, args: &[&str]) -> Result<GitOutput> {
        self.output(args).await?.check()
    }
}

/// What git said.
#[derive(Debug)]
pub(crate) struct GitOutput {
    what: String,
    at: PathBuf,
    pub(crate) code: i32,
    pub(crate) stdout: CappedOutput,
    pub(crate) stderr: String,
}

impl GitOutput {
    /// The output as one trimmed text.
    pub(crate) fn text(&self) -> String {
        self.stdout.text().trim().to_owned()
    }

    /// The output as the NUL-ended pieces it is made of; an error where the middle is missing.
    pub(crate) fn nul_separated(&self) -> Result<Vec<String>> {
        if self.stdout.is_truncated() {
            return Err(Error::Git {
                what: self.what.clone(),
                said: "named more files than can be kept".into(),
            });
        }
        let text = self.stdout.text();
        Ok(text
            .split('\0')
            .filter(|piece| !piece.is_empty())
            .map(str::to_owned)
            .collect())
    }

    pub(crate) fn check(self) -> Result<Self> {
        if self.code == 0 {
            return Ok(self);
        }
        Err(self.into_error())
    }

    /// The error that this answer is.
    pub(crate) fn into_error(self) -> Error {
        // Where git does not give the reason, a disk without room does.
        let may_be_full = self.stderr.contains("unable to write") && is_disk_full(&self.at);
        if may_be_full || self.stderr.contains("No space left on device") {
            return Error::DiskFull { path: self.at };
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
        let code = format!("ended with {}", self.code);
        if lines.is_empty() {
            lines.push(&code);
        }
        Error::Git {
            what: self.what,
            said: lines.join("; "),
        }
    }
}

fn is_disk_full(folder: &Path) -> bool {
    const LITTLE: u64 = 256 << 10;
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < LITTLE)
}
