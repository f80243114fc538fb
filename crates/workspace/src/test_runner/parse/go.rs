//! `go test`, with `-v` or without.

use std::collections::VecDeque;

use super::cases::CaseCollector;
use super::{OutputParser, ParsedOutput};

/// How many tests that have not come to a verdict are listened to.
const REMEMBERED: usize = 64;
/// How much of what one of them says is kept.
const SAID_BYTES: usize = 8 << 10;

/// Go's test runner. Without `-v` it does not name what passed, and a package that did counts as one.
#[derive(Debug, Default)]
pub(super) struct Go {
    seen: bool,
    passed: u64,
    failed: u64,
    errors: u64,
    packages: u64,
    verbose: bool,
    /// How far the open case is indented.
    depth: usize,
    /// With `-v` a test speaks before its verdict: what the latest ones said.
    said: VecDeque<(String, String)>,
    cases: CaseCollector,
    builds: CaseCollector,
}

impl OutputParser for Go {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        if let Some(rest) = text.strip_prefix("--- ") {
            self.verdict(rest, depth);
        } else if line.starts_with("ok  \t") {
            self.seen = true;
            self.packages += 1;
            self.close();
        } else if let Some(package) = line.strip_prefix("FAIL\t") {
            self.seen = true;
            self.errors += u64::from(package.ends_with(" failed]"));
            self.close();
        } else if let Some(package) = line.strip_prefix("# ") {
            self.close();
            self.builds.start(package);
        } else if let Some(rest) = text.strip_prefix("=== ") {
            self.verbose |= rest.starts_with("RUN ");
            self.close();
            self.turn_to(rest.split_whitespace().nth(1).unwrap_or_default());
        } else if line == "FAIL" || line == "PASS" {
            self.close();
        } else {
            self.push_output(line);
            self.builds.line(line);
            if depth > self.depth {
                self.cases.line(line);
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let passed = if self.verbose {
            self.passed
        } else {
            self.packages
        };
        let mut cases = self.cases.take();
        if self.errors > 0 {
            cases.extend(self.builds.take());
        }
        self.seen
            .then(|| ParsedOutput::new(passed, self.failed, self.errors, cases))
    }
}

impl Go {
    /// `FAIL: TestName (0.00s)`
    fn verdict(&mut self, rest: &str, depth: usize) {
        self.close();
        let (word, name) = rest.split_once(": ").unwrap_or((rest, ""));
        match word {
            "PASS" => self.passed += 1,
            "FAIL" => {
                self.failed += 1;
                self.depth = depth;
                let name = name.split(" (").next().unwrap_or(name);
                self.cases.start(name);
                if let Some((_, said)) = self.said.iter().find(|(of, _)| of == name) {
                    said.lines().for_each(|line| self.cases.line(line));
                }
            }
            _ => {}
        }
    }

    /// `RUN   TestName`: the lines that follow are this one's.
    fn turn_to(&mut self, name: &str) {
        let known = self.said.iter().position(|(of, _)| of == name);
        let entry = known.and_then(|at| self.said.remove(at));
        self.said
            .push_back(entry.unwrap_or_else(|| (name.to_owned(), String::new())));
        if self.said.len() > REMEMBERED {
            self.said.pop_front();
        }
    }

    fn push_output(&mut self, line: &str) {
        if let Some((_, said)) = self.said.back_mut()
            && said.len() + line.len() < SAID_BYTES
        {
            said.push_str(line);
            said.push('\n');
        }
    }

    fn close(&mut self) {
        self.cases.close();
        self.builds.close();
    }
}
