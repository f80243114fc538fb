//! What came of the scenarios, for a person and for a machine.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use windlass_core::{AgentEvent, escape_line};

use super::matching::{MatchResult, Mismatch};
use super::{EventMatcher, junit};

/// What came of a folder of scenarios.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioReport {
    /// Who played.
    pub subject: String,
    /// One result for each scenario.
    pub results: Vec<ScenarioResult>,
}

/// What came of one scenario.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioResult {
    /// Its file, from the folder that was run.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// How it went.
    #[serde(flatten)]
    pub outcome: ScenarioOutcome,
    /// How long it took.
    #[serde(rename = "duration_ms", serialize_with = "millis")]
    pub duration: Duration,
}

/// How a scenario went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "problem", rename_all = "snake_case")]
pub enum ScenarioOutcome {
    /// As expected.
    Passed,
    /// Otherwise, as told here.
    Failed(String),
    /// Not played: the scenario says that it is not for this agent, and why.
    Skipped(String),
}

impl ScenarioReport {
    /// How many went as expected.
    pub fn passed(&self) -> usize {
        self.count(|outcome| matches!(outcome, ScenarioOutcome::Passed))
    }

    /// How many did not.
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, ScenarioOutcome::Failed(_)))
    }

    /// How many were not played, since they are not for this agent.
    pub fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, ScenarioOutcome::Skipped(_)))
    }

    fn count(&self, is: impl Fn(&ScenarioOutcome) -> bool) -> usize {
        let outcomes = self.results.iter().map(|result| &result.outcome);
        outcomes.filter(|outcome| is(outcome)).count()
    }

    /// The report as JUnit's XML.
    pub fn junit(&self) -> String {
        junit::write(self)
    }
}

impl fmt::Display for ScenarioReport {
    /// A line for each scenario, what went wrong below it, and the count at the end.
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
                    writeln!(f, "left out {}: {reason}", escape_line(&file))?;
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
            count => write!(f, ", {count} left out"),
        }
    }
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Why a scenario failed.
#[derive(Debug)]
pub(super) enum ScenarioFailure {
    /// It could not be played.
    Setup(String),
    /// Something else was seen.
    Events {
        expected: Vec<EventMatcher>,
        seen: Vec<AgentEvent>,
        found: MatchResult,
    },
    /// The files are not as they should be.
    Files(Vec<String>),
}

impl fmt::Display for ScenarioFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(problem) => write!(f, "could not be played: {problem}"),
            Self::Files(problems) => f.write_str(&problems.join("\n")),
            Self::Events {
                expected,
                seen,
                found,
            } => aligned(f, expected, seen, found),
        }
    }
}

/// Expected events beside those that were seen, each where it was found.
fn aligned(
    f: &mut fmt::Formatter<'_>,
    expected: &[EventMatcher],
    seen: &[AgentEvent],
    found: &MatchResult,
) -> fmt::Result {
    const WIDTH: usize = 48;
    match found.missing {
        Some(Mismatch::Matcher(number)) => {
            writeln!(
                f,
                "expected event {} was not seen: {}",
                number + 1,
                matcher_json(&expected[number])
            )?;
        }
        _ => writeln!(f, "the turn did not end in a result")?,
    }
    writeln!(f, "  {:WIDTH$} | seen", "expected")?;
    let mut next = 0;
    for (place, event) in seen.iter().enumerate() {
        let left = if found.places.get(next) == Some(&place) {
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
