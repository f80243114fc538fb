//! How a project can be tested.

/// A command with its arguments.
pub(super) type Argv = Vec<String>;

/// A test command, and the set-up that it needs in a fresh checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestProposal {
    /// The test command, to be run after the set-up.
    pub command: Vec<String>,
    /// The command that prepares a checkout. `None` if nothing needs to be installed.
    pub setup: Option<Vec<String>>,
}

/// What the files of a project suggest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Detected {
    /// The test command on a machine that has everything installed.
    pub(super) installed: Argv,
    pub(super) proposal: TestProposal,
}

impl Detected {
    /// A command that is the same with and without the set-up.
    pub(super) fn new(command: Argv, setup: Option<Argv>) -> Self {
        Self {
            installed: command.clone(),
            proposal: TestProposal { command, setup },
        }
    }

    /// The same commands, started in a directory of the repository.
    pub(super) fn in_dir(self, dir: &str) -> Self {
        if dir.is_empty() {
            return self;
        }
        let TestProposal { command, setup } = self.proposal;
        Self {
            installed: in_dir(self.installed, dir),
            proposal: TestProposal {
                command: in_dir(command, dir),
                setup: setup.map(|setup| in_dir(setup, dir)),
            },
        }
    }
}

/// Splits a command at its spaces.
pub(super) fn argv(text: &str) -> Argv {
    text.split(' ').map(str::to_owned).collect()
}

/// Returns a command that runs a script in a shell.
pub(super) fn shell(script: impl Into<String>) -> Argv {
    vec!["sh".into(), "-c".into(), script.into()]
}

/// Quotes a word for a shell.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Joins a command to a line of a script.
pub(super) fn line(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

/// Returns the command as started in a directory of the repository.
fn in_dir(command: Argv, dir: &str) -> Argv {
    let mut all = vec!["env".to_owned(), format!("--chdir={dir}")];
    all.extend(command);
    all
}
