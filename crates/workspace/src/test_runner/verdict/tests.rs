//! Runs whose exit code, report and output do not agree.

use windlass_tasks::CaseStatus;

use super::super::parse::TestOutputParser;
use super::*;

fn read(text: &str) -> Vec<ParsedRun> {
    let mut parser = TestOutputParser::new();
    text.lines().for_each(|line| parser.line(line));
    parser.finish()
}

fn report(runner: RunnerKind, passed: u64, failed: u64) -> TestReport {
    let mut cases = NamedCases::default();
    for number in 0..passed {
        cases.add(&format!("passed {number}"), CaseStatus::Passed);
    }
    for number in 0..failed {
        cases.add(&format!("failed {number}"), CaseStatus::Failed);
    }
    TestReport {
        runner,
        content: Ok(ParsedRun::from_cases(runner, cases)),
    }
}

fn green(runner: RunnerKind, output: &str, reports: Vec<TestReport>) -> RunVerdict {
    RunVerdict::new(Evidence {
        success: true,
        runner: Some(runner),
        is_requested: runner == RunnerKind::Pytest,
        output: read(output),
        reports,
    })
}

fn kinds(verdict: &RunVerdict) -> Vec<TestNoteKind> {
    verdict.notes.iter().map(|note| note.kind).collect()
}

#[test]
fn honest_runs_have_no_notes() {
    let pytest = green(
        RunnerKind::Pytest,
        "=== 2 passed in 0.10s ===",
        vec![report(RunnerKind::Pytest, 2, 0)],
    );
    assert_eq!(kinds(&pytest), []);
    assert_eq!(pytest.cases.unwrap().len(), 2);
    let cargo = "     Running unittests src/lib.rs (target/debug/deps/lab-1)\nrunning 1 test\ntest a ... ok\n\n\
                 test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    let cargo = green(RunnerKind::Cargo, cargo, Vec::new());
    assert_eq!(kinds(&cargo), []);
    assert_eq!(cargo.cases.unwrap().get("lab a"), Some(CaseStatus::Passed));
}

#[test]
fn report_that_a_test_replaced_is_noticed() {
    let verdict = green(
        RunnerKind::Pytest,
        "=== 1 passed in 0.10s ===",
        vec![report(RunnerKind::Pytest, 3, 0)],
    );
    assert_eq!(kinds(&verdict), [TestNoteKind::ReportMismatch]);
    assert_eq!(verdict.counts.passed, 1, "the smaller number counts");
    let verdict = green(
        RunnerKind::Pytest,
        "=== 1 failed, 1 passed in 0.10s ===",
        vec![report(RunnerKind::Pytest, 2, 0)],
    );
    assert!(verdict.has(TestNoteKind::ReportMismatch));
    assert_eq!(verdict.counts.failed, 1);
}

#[test]
fn missing_or_unreadable_report_is_noticed() {
    let missing = green(RunnerKind::Pytest, "=== 1 passed in 0.10s ===", Vec::new());
    assert!(missing.has(TestNoteKind::ReportMismatch));
    assert_eq!(missing.cases, None);
    let unreadable = TestReport {
        runner: RunnerKind::Pytest,
        content: Err(ReportError::malformed("it is not complete")),
    };
    let large = TestReport {
        runner: RunnerKind::Pytest,
        content: Err(ReportError::TooLarge),
    };
    let large = green(RunnerKind::Pytest, "=== 1 passed in 0.10s ===", vec![large]);
    assert!(large.has(TestNoteKind::TooManyCases) && large.cases.is_none());
    // A test of a Rust project may start pytest.
    let other = green(
        RunnerKind::Cargo,
        "",
        vec![report(RunnerKind::Pytest, 1, 0)],
    );
    assert!(other.has(TestNoteKind::NoTests));
    let unreadable = green(
        RunnerKind::Pytest,
        "=== 1 passed in 0.10s ===",
        vec![unreadable],
    );
    assert!(unreadable.has(TestNoteKind::ReportMismatch));
}

#[test]
fn run_without_tests_is_noticed() {
    let silent = green(RunnerKind::Pytest, "", Vec::new());
    assert!(silent.has(TestNoteKind::NoTests));
    let none = green(
        RunnerKind::Pytest,
        "=== no tests ran in 0.01s ===",
        vec![report(RunnerKind::Pytest, 0, 0)],
    );
    assert!(none.has(TestNoteKind::NoTests));
    let ignored = "running 1 test\ntest a ... ignored\n\
                   test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
    assert!(green(RunnerKind::Cargo, ignored, Vec::new()).has(TestNoteKind::NoTests));
}

#[test]
fn failed_case_with_exit_code_zero_is_noticed() {
    let output = "running 1 test\ntest a ... FAILED\n\
                  test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
    let verdict = green(RunnerKind::Cargo, output, Vec::new());
    assert!(verdict.has(TestNoteKind::ReportMismatch));
    assert_eq!(verdict.counts.failed, 1);
}

#[test]
fn test_program_that_ends_early_is_noticed() {
    let output = "     Running unittests src/lib.rs (target/debug/deps/lab-1)\nrunning 3 tests\ntest a ... ok";
    let verdict = green(RunnerKind::Cargo, output, Vec::new());
    assert!(verdict.has(TestNoteKind::ReportMismatch));
    assert!(verdict.has(TestNoteKind::NoTests), "no result counts");
}

#[test]
fn result_lines_that_a_test_prints_are_noticed() {
    let output = "running 1 test\ntest removed ... ok\ntest a ... ok\n\
                  test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    assert!(green(RunnerKind::Cargo, output, Vec::new()).has(TestNoteKind::ReportMismatch));
    // The lines of another runner do not count if the runner is known.
    let output = "test result: ok. 9 passed; 0 failed; 0 ignored\n=== 1 passed in 0.10s ===";
    let verdict = green(
        RunnerKind::Pytest,
        output,
        vec![report(RunnerKind::Pytest, 1, 0)],
    );
    assert_eq!((verdict.counts.passed, kinds(&verdict)), (1, Vec::new()));
}

#[test]
fn program_with_its_own_harness_is_judged_by_its_exit_code() {
    let output = "     Running tests/custom.rs (target/debug/deps/custom-1)\nall fine\n";
    let verdict = green(RunnerKind::Cargo, output, Vec::new());
    assert_eq!(kinds(&verdict), [TestNoteKind::UnknownRunner]);
}

#[test]
fn unknown_runner_is_judged_by_its_exit_code() {
    let verdict = RunVerdict::new(Evidence {
        success: true,
        output: read("all good"),
        ..Evidence::default()
    });
    assert_eq!(kinds(&verdict), [TestNoteKind::UnknownRunner]);
    assert_eq!(verdict.cases, None);
}

#[test]
fn results_of_two_runners_are_added_if_the_command_names_neither() {
    let cargo = "running 2 tests\ntest a ... ok\ntest b ... ok\n\
                 test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    let verdict = RunVerdict::new(Evidence {
        success: true,
        output: read(&format!("{cargo}\n=== 3 passed in 0.10s ===")),
        reports: vec![report(RunnerKind::Pytest, 3, 0)],
        ..Evidence::default()
    });
    assert_eq!(verdict.counts.passed, 5);
    assert_eq!(verdict.cases.map(|cases| cases.len()), Some(5));
    assert_eq!(verdict.notes, []);
}

#[test]
fn names_do_not_depend_on_the_path_of_the_checkout() {
    let verdict = |root: &str| {
        let output =
            format!("TAP version 13\nok 1 - {root}/test/a.js\nnot ok 2 - {root}/test/b.js\n1..2\n");
        let verdict = RunVerdict::new(Evidence {
            output: read(&output),
            ..Evidence::default()
        });
        verdict.relative_to(Path::new(root))
    };
    let first = verdict("/tmp/one");
    assert_eq!(first.failures[0].name, "test/b.js");
    assert_eq!(first.cases, verdict("/srv/a second").cases);
}
