//! A proof as text for a person: the warnings first.

use windlass_tasks::{BasePart, CaseChanges, Proof, TestCounts, TestSummary};

/// How many cases of one kind are listed.
const MAX_CASES: usize = 20;

/// Formats a proof, one property per line.
pub(super) fn proof_lines(proof: &Proof) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&'static str, String)> = proof
        .warnings
        .iter()
        .map(|warning| ("warning", warning.to_string()))
        .collect();
    lines.push((
        "proof",
        format!(
            "commit {} on {}",
            short_hash(&proof.commit),
            base_line(&proof.base, &proof.base_parts)
        ),
    ));
    lines.push(("tree", proof.tree.clone()));
    if !proof.setup.is_empty() {
        lines.push(("setup", proof.setup.join(" ")));
    }
    if let Some(part) = &proof.part {
        let line = format!(
            "{} only; all: {}",
            part.projects.join(", "),
            part.whole.join(" ")
        );
        lines.push(("projects", line));
    }
    let own = run_line(&proof.command, Some(proof.exit_code), proof.counts);
    lines.push(("tests", own));
    lines.extend(proof.cases.iter().flat_map(case_lines));
    if let Some(run) = &proof.base_tests {
        lines.push(("base's tests", summary_line(run)));
        lines.extend(run.cases.iter().flat_map(case_lines));
    }
    if let Some(run) = &proof.baseline {
        lines.push(("before", summary_line(run)));
    }
    lines.push(("log sha256", proof.log_sha256.clone()));
    lines
}

/// Formats a base: its commit, and the changes of other tasks in it.
pub(super) fn base_line(base: &str, parts: &[BasePart]) -> String {
    let mut line = short_hash(base).to_owned();
    for (at, part) in parts.iter().enumerate() {
        let before = if at == 0 { " with" } else { "," };
        let commit = short_hash(&part.commit);
        line.push_str(&format!("{before} task {} ({commit})", part.task));
    }
    line
}

fn summary_line(run: &TestSummary) -> String {
    run_line(&run.command, run.exit_code, run.counts)
}

fn run_line(command: &[String], exit_code: Option<i32>, counts: TestCounts) -> String {
    let command = command.join(" ");
    let exit = exit_code.map_or_else(
        || "did not exit".to_owned(),
        |code| format!("exited {code}"),
    );
    let failed = counts.failed + counts.errors;
    match counts.total {
        0 => format!("{command} {exit}"),
        _ => format!(
            "{command} {exit}: {} passed, {failed} failed",
            counts.passed
        ),
    }
}

/// Formats the cases that differ from the run before the change, one kind per line.
fn case_lines(cases: &CaseChanges) -> Vec<(&'static str, String)> {
    let lists = [
        ("fixed", &cases.fixed),
        ("broken", &cases.broken),
        ("still failing", &cases.still_failing),
        ("skipped now", &cases.skipped),
        ("removed", &cases.removed),
        ("new", &cases.new),
        ("flaky", &cases.flaky),
    ];
    let filled = lists.into_iter().filter(|(_, names)| !names.is_empty());
    filled.map(|(name, names)| (name, list(names))).collect()
}

fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_CASES).map(String::as_str).collect();
    match names.len().saturating_sub(MAX_CASES) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

fn short_hash(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..25).map(|number| number.to_string()).collect();
        assert!(list(&names).ends_with("19, and 5 more"), "{}", list(&names));
        assert_eq!(list(&names[..2]), "0, 1");
    }

    #[test]
    fn counts_are_omitted_if_they_are_unknown() {
        let command = ["make".to_owned(), "test".to_owned()];
        let none = TestCounts::default();
        assert_eq!(run_line(&command, Some(0), none), "make test exited 0");
        assert_eq!(run_line(&command, None, none), "make test did not exit");
    }
}
