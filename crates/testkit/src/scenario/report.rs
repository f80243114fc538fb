//! The results of scenarios, for people and for programs.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use windlass_core::{AgentEvent, escape_line};

use super::EventMatcher;
use super::matching::{MatchResult, Mismatch};

/// The results of a directory of scenarios.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ScenarioReport {
    /// The name of the subject.
    pub subject: String,
    /// One result for each scenario.
    pub results: Vec<ScenarioResult>,
}

/// The result of one scenario.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ScenarioResult {
    /// Its file, relative to the directory that was run.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: ScenarioOutcome,
    /// Its duration.
    #[serde(rename = "duration_ms", serialize_with = "millis")]
    pub duration: Duration,
}

/// The outcome of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "problem", rename_all = "snake_case")]
pub enum ScenarioOutcome {
    /// It passed.
    Passed,
    /// It failed, with this message.
    Failed(String),
    /// It was not run: it excludes this agent, for this reason.
    Skipped(String),
}

impl ScenarioReport {
    /// Returns the number of scenarios that passed.
    pub fn passed(&self) -> usize {
        self.count(|outcome| matches!(outcome, ScenarioOutcome::Passed))
    }

    /// Returns the number of scenarios that failed.
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, ScenarioOutcome::Failed(_)))
    }

    /// Returns the number of scenarios that were skipped because they exclude this agent.
    pub fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, ScenarioOutcome::Skipped(_)))
    }

    fn count(&self, matches: impl Fn(&ScenarioOutcome) -> bool) -> usize {
        let outcomes = self.results.iter().map(|result| &result.outcome);
        outcomes.filter(|outcome| matches(outcome)).count()
    }
}

impl fmt::Display for ScenarioReport {
    /// Writes a line for each scenario, with its errors below it, and the counts at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for result in &self.results {
            let file = result.file.to_string_lossy();
            let millis = result.duration.as_millis();
            match &result.outcome {
                ScenarioOutcome::Passed => {
                    writeln!(f, "ok      {} ({millis} ms)", escape_line(&file))?
                }
                ScenarioOutcome::Skipped(reason) => {
                    let reason = escape_line(reason);
                    writeln!(f, "skipped {}: {reason}", escape_line(&file))?;
                }
                ScenarioOutcome::Failed(problem) => {
                    writeln!(f, "FAILED  {} ({millis} ms)", escape_line(&file))?;
                    for line in problem.lines() {
                        writeln!(f, "        {}", escape_line(line))?;
                    }
                }
            }
        }
        write!(f, "{} passed, {} failed", self.passed(), self.failed())?;
        match self.skipped() {
            0 => Ok(()),
            count => write!(f, ", {count} skipped"),
        }
    }
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Why a scenario failed.
#[derive(Debug)]
pub(super) enum ScenarioFailure {
    /// It could not be run.
    Setup(String),
    /// The events did not match.
    Events {
        expected: Vec<EventMatcher>,
        actual: Vec<AgentEvent>,
        result: MatchResult,
    },
    /// The files do not match.
    Files(Vec<String>),
}

impl fmt::Display for ScenarioFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(problem) => write!(f, "could not be run: {problem}"),
            Self::Files(problems) => f.write_str(&problems.join("\n")),
            Self::Events {
                expected,
                actual,
                result,
            } => aligned(f, expected, actual, result),
        }
    }
}

/// Writes expected events next to the actual ones, each next to its match.
fn aligned(
    f: &mut fmt::Formatter<'_>,
    expected: &[EventMatcher],
    actual: &[AgentEvent],
    result: &MatchResult,
) -> fmt::Result {
    const WIDTH: usize = 48;
    match result.missing {
        Some(Mismatch::Matcher(number)) => {
            writeln!(
                f,
                "expected event {} did not occur: {}",
                number + 1,
                matcher_json(&expected[number])
            )?;
        }
        _ => writeln!(f, "the turn did not end with a result")?,
    }
    writeln!(f, "  {:WIDTH$} | actual", "expected")?;
    let mut next = 0;
    for (position, event) in actual.iter().enumerate() {
        let left = if result.positions.get(next) == Some(&position) {
            next += 1;
            format!("= {}", matcher_json(&expected[next - 1]))
        } else {
            String::from(" ")
        };
        writeln!(f, "{} | {}", padded(&left, WIDTH + 2), event_json(event))?;
    }
    for matcher in &expected[next..] {
        writeln!(
            f,
            "{} |",
            padded(&format!("- {}", matcher_json(matcher)), WIDTH + 2)
        )?;
    }
    Ok(())
}

fn matcher_json(matcher: &EventMatcher) -> String {
    serde_json::to_string(matcher).unwrap_or_default()
}

fn event_json(event: &AgentEvent) -> String {
    truncate(&serde_json::to_string(event).unwrap_or_default(), 160)
}

fn padded(text: &str, width: usize) -> String {
    format!("{:width$}", truncate(text, width))
}

fn truncate(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}
