//! The candidates of a task side by side, as text.

use windlass_server::CandidateRow;

/// The columns.
const HEAD: [&str; 8] = [
    "agent", "outcome", "tests", "warnings", "lines", "cost", "time", "task",
];

/// Formats candidates as a table with a heading; without candidates there are no lines.
pub(super) fn candidate_lines(candidates: &[CandidateRow]) -> Vec<String> {
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(candidates.iter().map(row));
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; HEAD.len()] = std::array::from_fn(width);
    let line = |row: &[String; HEAD.len()]| {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn row(one: &CandidateRow) -> [String; HEAD.len()] {
    let outcome = match (one.chosen, one.proved) {
        (true, _) => "chosen".to_owned(),
        (false, true) => "proved".to_owned(),
        (false, false) => one.status.clone(),
    };
    let tests = match one.passed + one.failed {
        0 => "-".to_owned(),
        _ => format!("{} passed, {} failed", one.passed, one.failed),
    };
    let cost = match one.cost_usd {
        Some(cost) => format!("${cost:.2}"),
        None => format!("{} tokens", one.tokens),
    };
    let agent = one.agent.as_deref().unwrap_or("default");
    [
        agent.chars().take(30).collect(),
        outcome,
        tests,
        one.warnings.to_string(),
        one.lines.map_or("-".to_owned(), |lines| lines.to_string()),
        cost,
        format!("{} s", one.duration_ms.div_ceil(1000)),
        one.task.to_string(),
    ]
}
