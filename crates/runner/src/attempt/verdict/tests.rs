//! The rules on small examples.

use windlass_tasks::{TestCounts, TestRun};

use super::*;

/// Returns the result of a run with these cases: `+` passed, `-` failed, `~` skipped.
fn result(cases: &[&str]) -> TestResult {
    let mut named = CaseResults::default();
    let mut counts = TestCounts::default();
    for case in cases {
        let (sign, name) = case.split_at(1);
        let status = match sign {
            "+" => CaseStatus::Passed,
            "-" => CaseStatus::Failed,
            _ => CaseStatus::Skipped,
        };
        counts.passed += u64::from(sign == "+");
        counts.failed += u64::from(sign == "-");
        named.insert(name, status);
    }
    counts.total = counts.passed + counts.failed;
    let failed = counts.failed > 0;
    TestResult {
        command: vec!["check".to_owned()],
        status: if failed {
            TestStatus::Failed
        } else {
            TestStatus::Passed
        },
        exit_code: Some(i32::from(failed)),
        counts,
        failures: Vec::new(),
        cases: Some(named),
        notes: Vec::new(),
        duration_ms: 0,
        output: String::new(),
        output_sha256: String::new(),
    }
}

/// Returns a run that has counts but no names.
fn unnamed(passed: u64, exit_code: i32) -> TestResult {
    TestResult {
        cases: None,
        counts: TestCounts {
            passed,
            total: passed,
            ..TestCounts::default()
        },
        exit_code: Some(exit_code),
        status: if exit_code == 0 {
            TestStatus::Passed
        } else {
            TestStatus::Failed
        },
        ..result(&[])
    }
}

fn run(result: TestResult, flaky: &[&str]) -> TestRun {
    let flaky = flaky.iter().map(|name| (*name).to_owned()).collect();
    TestRun { result, flaky }
}

fn own(own: TestRun) -> Check {
    Check {
        own,
        base_tests: BaseTests::Same,
        warnings: Vec::new(),
        part: None,
    }
}

/// Describes the verdict in one line: the warnings by name, or why it is red.
#[track_caller]
fn check(before: TestResult, check: Check, named: &[&str], expected: &str) {
    let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
    let rules = TestRules {
        named: &named,
        edits_tests: false,
    };
    let baseline = Baseline {
        result: before,
        setup: Vec::new(),
        obstacle: None,
        projects: Vec::new(),
    };
    let text = match judge(rules, &baseline, &check, &[]) {
        ChangeVerdict::Green(verdict) => {
            let kinds = verdict.warnings.iter().map(|warning| warning.kind.as_str());
            format!("green {}", kinds.collect::<Vec<_>>().join(" "))
        }
        ChangeVerdict::Red(reasons) => format!("red {}", reasons.join("; ")),
    };
    assert_eq!(text.trim_end(), expected);
}

#[test]
fn what_passed_before_must_pass() {
    let before = || result(&["+a", "+b"]);
    check(
        before(),
        own(run(result(&["+a", "+b", "+c"]), &[])),
        &[],
        "green",
    );
    check(
        before(),
        own(run(result(&["+a", "-b"]), &[])),
        &[],
        "red these tests passed before the change and fail now: b",
    );
    check(
        before(),
        own(run(result(&["+a", "-b"]), &["b"])),
        &[],
        "green flaky-tests",
    );
    check(
        before(),
        own(run(result(&["+a", "+b", "-c"]), &[])),
        &[],
        "red these tests fail: c",
    );
    let skipped = result(&["+a", "~b"]);
    check(
        skipped,
        own(run(result(&["+a", "-b"]), &[])),
        &[],
        "red these tests fail: b",
    );
}

#[test]
fn failures_of_the_base_are_reported() {
    let before = || result(&["+a", "-b"]);
    check(before(), own(run(result(&["+a", "+b"]), &[])), &[], "green");
    check(
        before(),
        own(run(result(&["+a", "-b"]), &[])),
        &[],
        "green still-failing",
    );
    check(
        before(),
        own(run(result(&["+a", "-b"]), &[])),
        &["b"],
        "red the test b, which the task is about, did not pass",
    );
}

#[test]
fn no_test_is_never_green() {
    let none = "red no test ran: a change without a test is not proved";
    check(result(&["+a"]), own(run(result(&[]), &[])), &[], none);
    check(result(&[]), own(run(result(&[]), &[])), &[], none);
    check(result(&["+a"]), own(run(result(&["~a"]), &[])), &[], none);
    check(unnamed(2, 0), own(run(unnamed(0, 0), &[])), &[], none);
    check(result(&[]), own(run(result(&["+a"]), &[])), &[], "green");
}

#[test]
fn runner_without_names_is_judged_by_counts_or_exit_code() {
    check(unnamed(2, 0), own(run(unnamed(2, 0), &[])), &[], "green");
    check(
        unnamed(2, 0),
        own(run(unnamed(1, 0), &[])),
        &[],
        "green removed-tests",
    );
    check(
        unnamed(0, 1),
        own(run(unnamed(0, 0), &[])),
        &[],
        "green unknown-runner",
    );
    check(unnamed(0, 1), own(run(unnamed(0, 1), &[])), &[], "red");
    check(
        result(&["+a"]),
        own(run(unnamed(1, 0), &[])),
        &[],
        "red no test ran, or the test runner wrote no report: it did before the change",
    );
}

#[test]
fn removed_and_skipped_tests_are_reported_and_renamed_ones_are_not() {
    let before = || result(&["+a", "+b"]);
    check(before(), own(run(result(&["+a", "+c"]), &[])), &[], "green");
    check(
        before(),
        own(run(result(&["+a"]), &[])),
        &[],
        "green removed-tests",
    );
    check(
        before(),
        own(run(result(&["+a", "~b"]), &[])),
        &[],
        "green skipped-tests",
    );
}

#[test]
fn tests_of_the_base_decide_whether_changed_tests_are_reported() {
    let with = |base: TestResult| Check {
        base_tests: BaseTests::Run {
            run: Box::new(run(base, &[])),
            restored: vec!["tests/a.py".to_owned()],
        },
        ..own(run(result(&["+a", "+b"]), &[]))
    };
    let before = || result(&["+a", "+b"]);
    check(before(), with(result(&["+a", "+b"])), &[], "green");
    check(
        before(),
        with(result(&["+a", "-b"])),
        &[],
        "green changed-tests",
    );
    check(before(), with(result(&["+a"])), &[], "green changed-tests");
    check(before(), with(result(&[])), &[], "green changed-tests");
}

#[test]
fn named_test_is_a_whole_word_of_a_case() {
    assert!(is_named("tests/a.py::test_add[1]", "test_add"));
    assert!(is_named("tests/a.py::test_add", "tests/a.py"));
    assert!(is_named("adds two numbers", "adds two numbers"));
    assert!(!is_named("tests/a.py::test_added", "test_add"));
    assert!(!is_named("tests/a.py::test_add", ""));
}
