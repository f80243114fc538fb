//! Collects failing cases: a name, then the lines about it, within limits.

use windlass_tasks::TestCase;

/// Maximum number of failures.
pub(crate) const MAX_FAILURES: usize = 50;
/// Maximum length of a message.
const MAX_MESSAGE_BYTES: usize = 8 << 10;
/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 400;

/// Cases in the order of the output.
#[derive(Debug, Default)]
pub(crate) struct FailureCollector {
    all: Vec<TestCase>,
    open: bool,
}

impl FailureCollector {
    /// Starts a case; lines belong to it until the next one starts or it is closed.
    pub(crate) fn start(&mut self, name: &str) {
        let name: String = name.trim().chars().take(MAX_NAME_CHARS).collect();
        self.open = self.all.len() < MAX_FAILURES && !self.all.iter().any(|case| case.name == name);
        if self.open {
            let message = String::new();
            self.all.push(TestCase { name, message });
        }
    }

    /// Adds a line to the open case, if there is one.
    pub(crate) fn line(&mut self, line: &str) {
        let Some(case) = self.all.last_mut().filter(|_| self.open) else {
            return;
        };
        if case.message.is_empty() && line.trim().is_empty() {
            return;
        }
        if case.message.len() + line.len() > MAX_MESSAGE_BYTES {
            case.message.push_str("[… cut …]\n");
            self.open = false;
            return;
        }
        case.message.push_str(line);
        case.message.push('\n');
    }

    /// Closes the open case.
    pub(crate) fn close(&mut self) {
        self.open = false;
    }

    /// Returns the case that was started last.
    pub(crate) fn last(&mut self) -> Option<&mut TestCase> {
        self.all.last_mut()
    }

    pub(crate) fn find(&mut self, matches: impl Fn(&TestCase) -> bool) -> Option<&mut TestCase> {
        self.all.iter_mut().find(|case| matches(case))
    }

    /// Discards the open case.
    pub(crate) fn discard(&mut self) {
        if std::mem::take(&mut self.open) {
            self.all.pop();
        }
    }

    /// Returns all cases. Common indentation and trailing empty lines are removed from their
    /// messages.
    pub(crate) fn take(self) -> Vec<TestCase> {
        let trim = |case: TestCase| TestCase {
            message: dedent(case.message.trim_end()),
            ..case
        };
        self.all.into_iter().map(trim).collect()
    }
}

fn dedent(text: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let common = filled.map(depth).min().unwrap_or(0);
    let shorter = |line: &str| line.get(common..).unwrap_or("").trim_end().to_owned();
    text.lines().map(shorter).collect::<Vec<_>>().join("\n")
}
