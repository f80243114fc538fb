//! Node's own test runner, as TAP or as its spec report; and other TAP.

use super::cases::CaseCollector;
use super::{OutputParser, ParsedOutput};

/// The totals that Node prints at the end of either report.
const TOTALS: [&str; 4] = ["tests ", "pass ", "fail ", "cancelled "];

/// Parses TAP, and Node's spec report.
#[derive(Debug, Default)]
pub(super) struct TapParser {
    totals: [Option<u64>; 4],
    is_tap: bool,
    ok: u64,
    not_ok: u64,
    /// Whether the list of failing tests has started.
    failing: bool,
    cases: CaseCollector,
}

impl OutputParser for TapParser {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let is_top = line.len() == text.len();
        self.is_tap |= text.starts_with("TAP version ") || is_plan(text);
        if let Some(total) = line.strip_prefix("# ").or(line.strip_prefix("ℹ ")) {
            self.total(total);
        } else if let Some(rest) = text.strip_prefix("not ok ") {
            self.not_ok(rest, is_top);
        } else if text.starts_with("ok ") {
            self.ok += u64::from(is_top && !is_excused(text));
            self.cases.close();
        } else if text == "..." || text.starts_with("# Subtest") {
            self.cases.close();
        } else if text.starts_with("failureType: 'subtestsFailed'") {
            // The failing subtest was already reported.
            self.cases.discard();
        } else if line == "✖ failing tests:" {
            self.failing = true;
        } else if let Some(name) = line.strip_prefix("✖ ").filter(|_| self.failing) {
            let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
            self.cases.start(name);
        } else if line.starts_with("test at ") {
            self.cases.close();
        } else if text != "---" {
            self.cases.line(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<ParsedOutput> {
        let cases = self.cases.take();
        if let [Some(_), Some(pass), Some(fail), cancelled] = self.totals {
            return Some(ParsedOutput::new(pass, fail, cancelled.unwrap_or(0), cases));
        }
        let is_tap = self.is_tap && self.ok + self.not_ok > 0;
        is_tap.then(|| ParsedOutput::new(self.ok, self.not_ok, 0, cases))
    }
}

impl TapParser {
    fn total(&mut self, text: &str) {
        for (total, name) in self.totals.iter_mut().zip(TOTALS) {
            let number = text
                .strip_prefix(name)
                .and_then(|rest| rest.trim().parse().ok());
            *total = number.or(*total);
        }
        self.cases.close();
    }

    fn not_ok(&mut self, rest: &str, is_top: bool) {
        self.cases.close();
        if is_excused(rest) {
            return;
        }
        self.not_ok += u64::from(is_top);
        let is_number = |c: char| c.is_ascii_digit() || c == ' ' || c == '-';
        self.cases.start(rest.trim_start_matches(is_number));
    }
}

/// Returns `true` if the line has a directive that excludes it from the result.
fn is_excused(text: &str) -> bool {
    let directive = text
        .rsplit_once('#')
        .map_or("", |(_, directive)| directive.trim_start());
    let directive = directive.to_ascii_uppercase();
    directive.starts_with("SKIP") || directive.starts_with("TODO")
}

/// Returns `true` for a plan line such as `1..5`.
fn is_plan(text: &str) -> bool {
    let rest = text.strip_prefix("1..").unwrap_or_default();
    !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit())
}
