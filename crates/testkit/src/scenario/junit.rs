//! A report as JUnit XML for CI servers.
//!
//! It is written here because it has one shape and is never read. The crate `quick-junit` would bring a date library and
//! an XML parser, and it removes control characters, which this report shows.

use super::{ScenarioOutcome, ScenarioReport, ScenarioResult};

impl ScenarioReport {
    /// Returns the report as JUnit XML.
    pub fn junit(&self) -> String {
        suite(self)
    }
}

/// Returns one suite with one case for each scenario.
fn suite(report: &ScenarioReport) -> String {
    let seconds: f64 = report
        .results
        .iter()
        .map(|result| result.duration.as_secs_f64())
        .sum();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites>\n<testsuite name=\"scenarios on {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{seconds:.3}\">\n",
        escaped(&report.subject),
        report.results.len(),
        report.failed(),
        report.skipped(),
    );
    for result in &report.results {
        xml.push_str(&case(result));
    }
    xml + "</testsuite>\n</testsuites>\n"
}

fn case(result: &ScenarioResult) -> String {
    let dir = result.file.parent().unwrap_or(&result.file);
    let head = format!(
        "<testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(&dir.to_string_lossy()),
        escaped(&result.name),
        result.duration.as_secs_f64(),
    );
    match &result.outcome {
        ScenarioOutcome::Passed => format!("{head}/>\n"),
        ScenarioOutcome::Skipped(reason) => {
            let reason = escaped(reason);
            format!("{head}><skipped message=\"{reason}\"/></testcase>\n")
        }
        ScenarioOutcome::Failed(problem) => {
            let first = problem.lines().next().unwrap_or_default();
            let (first, all) = (escaped(first), escaped(problem));
            format!("{head}><failure message=\"{first}\">{all}</failure></testcase>\n")
        }
    }
}

/// Returns the text with XML's special characters escaped, and characters that XML cannot contain
/// written out.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\t' | '\n' => xml.push(c),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                xml.extend(c.escape_unicode());
            }
            _ => xml.push(c),
        }
    }
    xml
}
