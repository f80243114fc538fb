//! `cargo test`: the test harness of Rust, and cargo itself.

use std::collections::BTreeMap;

use windlass_tasks::CaseStatus;

use super::{OutputParser, count};
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// Parses the output of the test harness that `cargo test` runs, and of cargo itself.
#[derive(Debug, Default)]
pub(super) struct Libtest {
    seen: bool,
    passed: u64,
    failed: u64,
    errors: u64,
    failures: FailureCollector,
    compiler: FailureCollector,
    build_failed: bool,
    cases: NamedCases,
    /// The test program that runs: `lab`, `tests/it`, `doc/lab`.
    program: String,
    /// How many programs of each name were run.
    programs: BTreeMap<String, u32>,
    /// How many tests the running program announced.
    announced: Option<u64>,
    /// A program that has not announced tests: it has its own test harness.
    silent: Option<String>,
    unread: Option<String>,
    contradiction: Option<String>,
}

impl OutputParser for Libtest {
    fn line(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.result(result);
            self.failures.close();
        } else if let Some(name) = heading(line) {
            let name = self.full_name(name);
            self.failures.start(&name);
        } else if line == "failures:" {
            self.failures.close();
        } else {
            self.failures.line(line);
        }
        if let Some(program) = program(line) {
            self.start(program);
        } else if let Some(number) = announced(line) {
            self.silent = None;
            self.end_program();
            self.announced = Some(number);
        } else if let Some((name, status)) = case(line) {
            self.case(name, status);
        }
        self.compile(line);
        let text = line.trim_start();
        // A test program that was killed by a signal.
        if text.starts_with("process didn't exit successfully") && text.contains("(signal: ") {
            self.seen = true;
            self.errors += 1;
            self.failures.start("test program");
            self.failures.line(text);
            self.failures.close();
        }
    }

    fn finish(mut self: Box<Self>) -> Option<ParsedRun> {
        self.end_program();
        let mut errors = self.errors;
        let mut compiler = Vec::new();
        if self.build_failed {
            errors += 1;
            compiler = self.compiler.take();
        }
        if !self.seen && !self.build_failed {
            return None;
        }
        let run = ParsedRun::new(RunnerKind::Cargo, self.passed, self.failed, errors);
        let mut run = run.with_failures(self.failures).with_named(self.cases);
        run.failures.extend(compiler);
        run.contradiction = self.contradiction.or(run.contradiction);
        run.unread = self.unread;
        Some(run)
    }
}

impl Libtest {
    /// Starts a test program.
    fn start(&mut self, program: String) {
        self.end_program();
        let runs = self.programs.entry(program.clone()).or_default();
        *runs = runs.saturating_add(1);
        self.program = match *runs {
            1 => program,
            // Two packages of a workspace may have a test program of the same name.
            number => format!("{program}#{number}"),
        };
        self.silent = Some(self.program.clone());
    }

    /// Checks that the program before this one reported a result.
    fn end_program(&mut self) {
        if let Some(program) = self.silent.take() {
            self.seen = true;
            let sentence = format!("{program} does not use the standard test harness");
            self.unread.get_or_insert(sentence);
        }
        if let Some(number) = self.announced.take() {
            self.seen = true;
            self.contradiction.get_or_insert(format!(
                "{} announced {number} tests and ended without a result",
                self.name_of_program()
            ));
        }
    }

    /// Parses `ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`.
    fn result(&mut self, result: &str) {
        self.seen = true;
        let number = |word| count(result, &[word]).unwrap_or(0);
        let (passed, failed) = (number("passed"), number("failed"));
        self.passed = self.passed.saturating_add(passed);
        self.failed = self.failed.saturating_add(failed);
        let counted = [passed, failed, number("ignored"), number("measured")]
            .into_iter()
            .fold(0, u64::saturating_add);
        if let Some(announced) = self.announced.take()
            && announced != counted
        {
            self.contradiction.get_or_insert(format!(
                "{} announced {announced} tests and counted {counted}",
                self.name_of_program()
            ));
        }
    }

    fn case(&mut self, name: &str, status: CaseStatus) {
        let name = self.full_name(name);
        self.cases.add(&name, status);
    }

    /// Returns the name with its program: `lab tests::adds`.
    fn full_name(&self, name: &str) -> String {
        // The name of a documentation test has its line number, which moves with every change.
        let name = name.split(" (line ").next().unwrap_or(name);
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        format!("{} {name}", self.program)
    }

    fn name_of_program(&self) -> &str {
        match self.program.as_str() {
            "" => "the test program",
            name => name,
        }
    }

    /// Collects compiler errors, in case the build fails.
    fn compile(&mut self, line: &str) {
        let is_error = line.starts_with("error[E") || line.starts_with("error: ");
        if line.starts_with("error: could not compile ") {
            self.build_failed = true;
            self.compiler.close();
        } else if is_error && !line.contains("test failed") {
            self.compiler.start(line);
        } else if line.is_empty() || line.starts_with("warning: ") {
            self.compiler.close();
        } else {
            self.compiler.line(line);
        }
    }
}

/// Returns the name in `---- name stdout ----`.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

/// Parses `     Running tests/it.rs (target/debug/deps/it-367bb434d4c2abd3)` and `   Doc-tests lab`.
fn program(line: &str) -> Option<String> {
    let text = line.trim_start();
    if let Some(name) = text.strip_prefix("Doc-tests ") {
        return Some(format!("doc/{name}"));
    }
    let (source, file) = text.strip_prefix("Running ")?.split_once(" (")?;
    let file = file.strip_suffix(')')?.rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    let source = source.strip_prefix("unittests ").unwrap_or(source);
    Some(match source.split(['/', '\\']).next() {
        _ if source == "src/lib.rs" => name.to_owned(),
        Some("src") | None => format!("bin/{name}"),
        Some(dir) => format!("{dir}/{name}"),
    })
}

/// Parses `running 4 tests`.
fn announced(line: &str) -> Option<u64> {
    let (number, word) = line.strip_prefix("running ")?.split_once(' ')?;
    let is_word = word == "test" || word == "tests";
    is_word.then(|| number.parse().ok()).flatten()
}

/// Parses `test tests::adds ... FAILED`.
fn case(line: &str) -> Option<(&str, CaseStatus)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is = |word: &str| {
        let rest = result.strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
    };
    match () {
        () if is("ok") => Some((name, CaseStatus::Passed)),
        () if is("FAILED") => Some((name, CaseStatus::Failed)),
        () if is("ignored") => Some((name, CaseStatus::Skipped)),
        () => None,
    }
}
