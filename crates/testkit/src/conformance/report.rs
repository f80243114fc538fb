//! The report of the conformance suite.

use std::fmt;

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The backend behaves correctly.
    Passed,
    /// The backend does not support it, and reports that.
    Unsupported(String),
    /// The backend misbehaves, with a message.
    Failed(String),
}

impl Verdict {
    fn label(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Unsupported(_) => "unsupported",
            Self::Failed(_) => "FAILED",
        }
    }
}

/// A case and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaseResult {
    /// The group of the case.
    pub group: &'static str,
    /// The name of the case.
    pub name: &'static str,
    /// The result.
    pub verdict: Verdict,
}

/// The results of a backend in all cases. Its display is a table with one line per case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    agent: String,
    rows: Vec<CaseResult>,
}

impl Report {
    pub(super) fn name(&mut self, agent: &str) {
        agent.clone_into(&mut self.agent);
    }

    pub(super) fn push(&mut self, result: CaseResult) {
        self.rows.push(result);
    }

    /// Returns the name of the agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns every case in order.
    pub fn rows(&self) -> &[CaseResult] {
        &self.rows
    }

    /// Returns `true` if no case failed.
    pub fn passed(&self) -> bool {
        self.count("FAILED") == 0
    }

    fn count(&self, label: &str) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.verdict.label() == label).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, unsupported, failed] =
            ["passed", "unsupported", "FAILED"].map(|label| self.count(label));
        writeln!(
            f,
            "{}: {passed} passed, {unsupported} unsupported, {failed} failed",
            self.agent
        )?;
        let (groups, names) = widths(&self.rows);
        for row in &self.rows {
            let why = match &row.verdict {
                Verdict::Passed => "",
                Verdict::Unsupported(why) | Verdict::Failed(why) => why,
            };
            let line = format!(
                "{:groups$}  {:names$}  {:11}  {}",
                row.group,
                row.name,
                row.verdict.label(),
                windlass_core::escape_line(why),
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The results of several backends: one line per case, one column per backend.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a>(pub &'a [Report]);

impl fmt::Display for Matrix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else {
            return Ok(());
        };
        let (groups, names) = widths(&first.rows);
        let column = |report: &Report| report.agent.len().max("unsupported".len());
        write!(f, "{:groups$}  {:names$}", "", "")?;
        for report in self.0 {
            write!(f, "  {:1$}", report.agent, column(report))?;
        }
        writeln!(f)?;
        for (index, row) in first.rows.iter().enumerate() {
            write!(f, "{:groups$}  {:names$}", row.group, row.name)?;
            for report in self.0 {
                let label = report.rows.get(index).map_or("", |row| row.verdict.label());
                write!(f, "  {label:0$}", column(report))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn widths(rows: &[CaseResult]) -> (usize, usize) {
    let widest =
        |text: fn(&CaseResult) -> &str| rows.iter().map(|row| text(row).len()).max().unwrap_or(0);
    (widest(|row| row.group), widest(|row| row.name))
}
