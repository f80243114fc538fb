//! Parses recorded output of real test runners.

use std::fmt::Write;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;
use crate::test_runner::parsed::MAX_FAILURES;

fn read(text: &str) -> Vec<ParsedRun> {
    let mut parser = TestOutputParser::new();
    text.lines().for_each(|line| parser.line(line));
    parser.finish()
}

/// Returns the only run in the output.
#[track_caller]
fn read_one(text: &str) -> ParsedRun {
    let [run] = read(text).try_into().unwrap();
    run
}

/// Output of real test runners. `expected.txt` in the same directory has the result for each.
const FIXTURES: [(&str, &str); 21] = [
    ("cargo", include_str!("../../../fixtures/runners/cargo.txt")),
    (
        "cargo (build failure)",
        include_str!("../../../fixtures/runners/cargo-broken.txt"),
    ),
    (
        "nextest",
        include_str!("../../../fixtures/runners/nextest.txt"),
    ),
    (
        "pytest",
        include_str!("../../../fixtures/runners/pytest.txt"),
    ),
    (
        "pytest -q",
        include_str!("../../../fixtures/runners/pytest-q.txt"),
    ),
    (
        "unittest",
        include_str!("../../../fixtures/runners/unittest.txt"),
    ),
    ("jest", include_str!("../../../fixtures/runners/jest.txt")),
    (
        "jest --verbose",
        include_str!("../../../fixtures/runners/jest-verbose.txt"),
    ),
    (
        "vitest",
        include_str!("../../../fixtures/runners/vitest.txt"),
    ),
    ("mocha", include_str!("../../../fixtures/runners/mocha.txt")),
    (
        "node (TAP)",
        include_str!("../../../fixtures/runners/node-tap.txt"),
    ),
    (
        "node (spec)",
        include_str!("../../../fixtures/runners/node-spec.txt"),
    ),
    (
        "other TAP",
        include_str!("../../../fixtures/runners/tap.txt"),
    ),
    ("tape", include_str!("../../../fixtures/runners/tape.txt")),
    (
        "unittest -v",
        include_str!("../../../fixtures/runners/unittest-v.txt"),
    ),
    (
        "mocha (nested, with a forged line)",
        include_str!("../../../fixtures/runners/mocha-nested.txt"),
    ),
    (
        "node (spec, nested, with forged lines)",
        include_str!("../../../fixtures/runners/node-spec-nested.txt"),
    ),
    ("maven", include_str!("../../../fixtures/runners/maven.txt")),
    ("go", include_str!("../../../fixtures/runners/go.txt")),
    ("go -v", include_str!("../../../fixtures/runners/go-v.txt")),
    (
        "generic",
        include_str!("../../../fixtures/runners/plain.txt"),
    ),
];

#[test]
fn output_of_real_runners_is_parsed() {
    let mut results = String::new();
    for (name, text) in FIXTURES {
        let parsed = read_one(text);
        let c = parsed.counts;
        writeln!(
            results,
            "# {name}: {} passed, {} failed, {} errors, {} total",
            c.passed, c.failed, c.errors, c.total
        )
        .unwrap();
        for (name, status) in parsed.cases.unwrap_or_default().into_results().iter() {
            writeln!(results, "{status:?} {name}").unwrap();
        }
        if let Some(sentence) = parsed.contradiction {
            writeln!(results, "contradiction: {sentence}").unwrap();
        }
        for case in parsed.failures {
            writeln!(results, "- {}", case.name).unwrap();
            for line in case.message.lines().take(4) {
                writeln!(results, "    {line}").unwrap();
            }
        }
    }
    expect_file!["../../../fixtures/runners/expected.txt"].assert_eq(&results);
}

#[test]
fn terminal_colors_are_ignored() {
    let parsed = read_one("\u{1b}[32mtest result: ok. 2 passed; 0 failed; 0 ignored\u{1b}[0m");
    assert_eq!(parsed.counts.passed, 2);
}

#[test]
fn unknown_output_counts_nothing() {
    assert_eq!(read("all good\n"), []);
    assert_eq!(read(""), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn p12_results_are_bounded_for_any_output(
        lines in prop::collection::vec(
            prop_oneof![
                ".{0,80}",
                "(---- |FAIL |  ● |not ok |--- FAIL: |# |FAILED |____ |error: |✖ |  1\\) )[a-z:>( ]{0,20}",
                "[0-9]{1,22} (passed|failed|errors|passing|failing)",
            ],
            0..200,
        )
    ) {
        for run in read(&lines.join("\n")) {
            prop_assert!(run.failures.len() <= MAX_FAILURES);
            for case in run.failures {
                prop_assert!(case.message.len() < 10_000);
            }
        }
    }
}
