//! `go test`, with `-v` or without.

use super::cases::Cases;
use super::{Found, Runner};

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
    cases: Cases,
    builds: Cases,
}

impl Runner for Go {
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
            self.builds.begin(package);
        } else if line == "FAIL" || line == "PASS" || text.starts_with("=== ") {
            self.verbose |= text.starts_with("=== RUN");
            self.close();
        } else {
            self.builds.line(line);
            if depth > self.depth {
                self.cases.line(line);
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<Found> {
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
            .then(|| Found::new(passed, self.failed, self.errors, cases))
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
                self.cases.begin(name.split(" (").next().unwrap_or(name));
            }
            _ => {}
        }
    }

    fn close(&mut self) {
        self.cases.close();
        self.builds.close();
    }
}
