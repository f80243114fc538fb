//! Parses recorded reports of real test runners, and hostile ones.

use std::fmt::Write;

use expect_test::expect_file;

use super::*;

fn describe(name: &str, run: ParsedRun, text: &mut String) {
    let c = run.counts;
    writeln!(
        text,
        "# {name}: {} passed, {} failed, {} errors, {} total",
        c.passed, c.failed, c.errors, c.total
    )
    .unwrap();
    let cases = run.cases.unwrap_or_default().into_results();
    for (name, status) in cases.iter() {
        writeln!(text, "{status:?} {name}").unwrap();
    }
    for case in run.failures {
        writeln!(text, "- {}", case.name).unwrap();
        for line in case.message.lines().take(3) {
            writeln!(text, "    {line}").unwrap();
        }
    }
}

#[test]
fn recorded_reports_are_parsed() {
    let mut text = String::new();
    let pytest = include_str!("../../../fixtures/reports/pytest.xml");
    let pytest = junit::parse(RunnerKind::Pytest, pytest, pytest::node_id).unwrap();
    describe("pytest", pytest, &mut text);
    let root = Path::new("/home/me/js");
    let jest = include_str!("../../../fixtures/reports/jest.json");
    describe(
        "jest",
        jest::parse(RunnerKind::Jest, jest, root).unwrap(),
        &mut text,
    );
    let vitest = include_str!("../../../fixtures/reports/vitest.json");
    describe(
        "vitest",
        jest::parse(RunnerKind::Vitest, vitest, root).unwrap(),
        &mut text,
    );
    let node = include_str!("../../../fixtures/reports/node.tap");
    describe("node", parse::node_tap(node).unwrap(), &mut text);
    let surefire = include_str!("../../../fixtures/reports/TEST-com.example.AddTest.xml");
    describe(
        "surefire",
        junit::parse(RunnerKind::Maven, surefire, java::method).unwrap(),
        &mut text,
    );
    let mut events = GoEvents::default();
    let go = include_str!("../../../fixtures/reports/go.jsonl");
    let output: Vec<String> = go.lines().filter_map(|line| events.line(line)).collect();
    describe("go", events.finish().unwrap(), &mut text);
    assert!(output.contains(&"FAIL\tlab\t0.008s".to_owned()));
    expect_file!["../../../fixtures/reports/expected.txt"].assert_eq(&text);
}

#[test]
fn hostile_xml_is_refused() {
    let parse = |text: &str| junit::parse(RunnerKind::Pytest, text, pytest::node_id);
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><testsuite><testcase name=\"&b;\"/></testsuite>";
    assert!(parse(bomb).is_err());
    assert!(parse("<testsuite><testcase name=\"&b;\"/></testsuite>").is_err());
    assert!(
        parse("<testsuite><testcase name=\"a\"><failure>&b;</failure></testcase></testsuite>")
            .is_err()
    );
    assert!(
        parse("<testsuite><testcase name=\"a\"/>").is_err(),
        "truncated"
    );
    assert!(parse("").is_err());
    assert!(parse("<html></html>").is_err());
    assert!(parse("<testsuite></testcase>").is_err());
    let deep = format!(
        "{}{}",
        "<testsuite>".repeat(200_000),
        "</testsuite>".repeat(200_000)
    );
    assert_eq!(parse(&deep).unwrap().counts.total, 0);
}

#[test]
fn p12_cases_of_a_large_report_are_bounded() {
    let mut text = String::from("<testsuite>");
    for number in 0..300_000 {
        write!(text, "<testcase classname=\"m\" name=\"t{number}\"/>").unwrap();
    }
    text.push_str("</testsuite>");
    let run = junit::parse(RunnerKind::Pytest, &text, pytest::node_id).unwrap();
    let cases = run.cases.unwrap();
    assert_eq!(run.counts.passed, 300_000);
    assert_eq!(cases.dropped, 200_000);
    assert_eq!(cases.into_results().len(), 100_000);
}

#[test]
fn report_that_is_a_link_a_pipe_or_too_large_is_not_read() {
    let command = ["pytest".to_owned()];
    let checkout = tempfile::tempdir().unwrap();
    let secret = checkout.path().join("secret.xml");
    std::fs::write(
        &secret,
        "<testsuite><testcase name=\"secret\"/></testsuite>",
    )
    .unwrap();
    let reports = Reports::new(checkout.path(), &command).unwrap();
    std::os::unix::fs::symlink(&secret, reports.dir().join(PYTEST)).unwrap();
    assert!(matches!(
        &reports.read()[..],
        [TestReport {
            content: Err(_),
            ..
        }]
    ));

    let reports = Reports::new(checkout.path(), &command).unwrap();
    let pipe = reports.dir().join(PYTEST);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(matches!(
        &reports.read()[..],
        [TestReport {
            content: Err(_),
            ..
        }]
    ));

    let reports = Reports::new(checkout.path(), &command).unwrap();
    let large = std::fs::File::create(reports.dir().join(PYTEST)).unwrap();
    large.set_len(MAX_REPORT_BYTES + 1).unwrap();
    assert!(matches!(
        &reports.read()[..],
        [TestReport {
            content: Err(_),
            ..
        }]
    ));
}

#[test]
fn reports_of_java_from_an_earlier_run_do_not_count() {
    let checkout = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = checkout.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let report =
        |name: &str| format!("<testsuite><testcase classname=\"A\" name=\"{name}\"/></testsuite>");
    write("pom.xml", "<project/>");
    write("core/target/surefire-reports/TEST-A.xml", &report("old"));
    write("core/target/surefire-reports/TEST-B.xml", &report("old"));
    let reports = Reports::new(checkout.path(), &["mvn".to_owned(), "test".to_owned()]).unwrap();
    assert!(reports.read().is_empty());
    write("core/target/surefire-reports/TEST-B.xml", &report("new"));
    write("app/build/test-results/test/TEST-C.xml", &report("gradle"));
    let runs: Vec<_> = reports
        .read()
        .into_iter()
        .map(|report| report.content.unwrap())
        .collect();
    let names: Vec<_> = runs
        .into_iter()
        .flat_map(|run| {
            let cases = run.cases.unwrap().into_results();
            cases
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(names, ["A#new", "A#gradle"]);
}
