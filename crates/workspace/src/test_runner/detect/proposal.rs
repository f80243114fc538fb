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
    /// The directories of the projects of a monorepo, which are tested separately if no command is configured. Empty
    /// if the repository is tested as a whole.
    pub projects: Vec<String>,
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
            proposal: TestProposal {
                command,
                setup,
                projects: Vec::new(),
            },
        }
    }

    /// Returns these commands, started in a directory of the repository.
    pub(super) fn in_dir(self, dir: &str) -> Self {
        if dir.is_empty() {
            return self;
        }
        let TestProposal { command, setup, .. } = self.proposal;
        Self {
            installed: in_dir(self.installed, dir),
            proposal: TestProposal {
                command: in_dir(command, dir),
                setup: setup.map(|setup| in_dir(setup, dir)),
                projects: Vec::new(),
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

/// Returns the words of a line that [`line`] wrote. `None` if a quote is not closed.
pub(super) fn unquote(line: &str) -> Option<Argv> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let word = words.last_mut()?;
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.push(chars.next()?),
            ' ' if !is_quoted => words.push(String::new()),
            _ => word.push(c),
        }
    }
    (!is_quoted).then_some(words)
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
