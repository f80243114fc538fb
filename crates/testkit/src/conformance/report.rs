//! What came out.

use std::fmt;

use super::case::Case;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Passed,
    /// The backend cannot do it, and says so.
    Unsupported(String),
    /// Not as it should, with a sentence that says how.
    Failed(String),
}

impl Verdict {
    fn label(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Unsupported(_) => "refused",
            Self::Failed(_) => "FAILED",
        }
    }
}

/// A case and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// What the case is about.
    pub group: &'static str,
    /// The case.
    pub name: &'static str,
    /// How it ended.
    pub verdict: Verdict,
}

/// How a backend did in every case. Shown, it is a table with one line for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    agent: String,
    rows: Vec<CaseResult>,
}

impl Report {
    pub(super) fn name(&mut self, agent: &str) {
        agent.clone_into(&mut self.agent);
    }

    pub(super) fn push(&mut self, case: &Case, verdict: Verdict) {
        self.rows.push(CaseResult {
            group: case.group,
            name: case.name,
            verdict,
        });
    }

    /// The name of the agent.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Every case in order.
    pub fn rows(&self) -> &[CaseResult] {
        &self.rows
    }

    /// Whether no case failed.
    pub fn passed(&self) -> bool {
        self.count("FAILED") == 0
    }

    fn count(&self, word: &str) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.verdict.label() == word).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [passed, refused, failed] =
            ["passed", "refused", "FAILED"].map(|word| self.count(word));
        writeln!(
            f,
            "{}: {passed} passed, {refused} refused, {failed} failed",
            self.agent
        )?;
        let (groups, names) = widths(&self.rows);
        for row in &self.rows {
            let why = match &row.verdict {
                Verdict::Passed => "",
                Verdict::Unsupported(why) | Verdict::Failed(why) => why,
            };
            let line = format!(
                "{:groups$}  {:names$}  {:7}  {}",
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

/// Several backends side by side: a line for each case, a column for each backend.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a>(pub &'a [Report]);

impl fmt::Display for Matrix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.0.first() else {
            return Ok(());
        };
        let (groups, names) = widths(&first.rows);
        let column = |report: &Report| report.agent.len().max("refused".len());
        write!(f, "{:groups$}  {:names$}", "", "")?;
        for report in self.0 {
            write!(f, "  {:1$}", report.agent, column(report))?;
        }
        writeln!(f)?;
        for (at, row) in first.rows.iter().enumerate() {
            write!(f, "{:groups$}  {:names$}", row.group, row.name)?;
            for report in self.0 {
                let word = report.rows.get(at).map_or("", |row| row.verdict.label());
                write!(f, "  {word:0$}", column(report))?;
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
