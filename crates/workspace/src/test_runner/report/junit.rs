//! JUnit reports, which many runners write.
//!
//! The parser expands no entity of a document type definition and keeps no tree, so that a small file cannot become a
//! large value.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesRef, BytesStart, Event};
use windlass_tasks::CaseStatus;

use super::error::ReportError;
use crate::test_runner::parsed::{FailureCollector, NamedCases, ParsedRun};
use crate::test_runner::runner_kind::RunnerKind;

/// The attributes that name a case.
#[derive(Debug, Default)]
pub(crate) struct CaseAttributes {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) file: String,
}

/// A `testcase` element that is being read.
#[derive(Debug)]
struct OpenCase {
    name: String,
    status: CaseStatus,
    message: String,
    /// Whether the text belongs to a failure.
    in_failure: bool,
    is_error: bool,
}

/// Parses a report. `name` returns the name of a case.
pub(crate) fn parse(
    runner: RunnerKind,
    text: &str,
    name: fn(&CaseAttributes) -> String,
) -> Result<ParsedRun, ReportError> {
    let mut reader = Reader::from_str(text);
    let mut depth = 0_u32;
    let mut is_report = false;
    let mut open: Option<OpenCase> = None;
    let mut errors = 0;
    let (mut cases, mut failures) = (NamedCases::default(), FailureCollector::default());
    loop {
        let event = reader.read_event().map_err(ReportError::malformed)?;
        match &event {
            Event::Start(element) | Event::Empty(element) => {
                let is_empty = matches!(event, Event::Empty(_));
                depth += u32::from(!is_empty);
                match element.name().as_ref() {
                    "testsuites" | "testsuite" => is_report = true,
                    "testcase" => {
                        let case = OpenCase {
                            name: name(&attributes(element)?),
                            status: CaseStatus::Passed,
                            message: String::new(),
                            in_failure: false,
                            is_error: false,
                        };
                        if is_empty {
                            cases.add(&case.name, case.status);
                        } else {
                            open = Some(case);
                        }
                    }
                    tag => {
                        if let Some(case) = &mut open {
                            case.start(tag, element, is_empty)?;
                        }
                    }
                }
            }
            Event::End(element) => {
                depth = depth.saturating_sub(1);
                match (element.name().as_ref(), &mut open) {
                    ("testcase", _) => {
                        if let Some(case) = open.take() {
                            errors += u64::from(case.is_error);
                            case.finish(&mut cases, &mut failures);
                        }
                    }
                    ("failure" | "error", Some(case)) => case.in_failure = false,
                    _ => {}
                }
            }
            Event::Text(text) => push(&mut open, &text.xml10_content()),
            Event::CData(text) => push(&mut open, &text.xml10_content()),
            Event::GeneralRef(reference) => push(&mut open, &resolve(reference)?),
            Event::DocType(_) => {
                return Err(ReportError::malformed("it has a document type definition"));
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if depth != 0 || !is_report {
        return Err(ReportError::malformed("it is not complete"));
    }
    let run = ParsedRun::from_cases(runner, cases).with_errors(errors);
    Ok(run.with_failures(failures))
}

impl OpenCase {
    fn start(
        &mut self,
        tag: &str,
        element: &BytesStart<'_>,
        is_empty: bool,
    ) -> Result<(), ReportError> {
        match tag {
            "failure" | "error" => {
                self.status = CaseStatus::Failed;
                self.is_error = tag == "error";
                self.in_failure = !is_empty;
                if self.message.is_empty() && is_empty {
                    self.message = attribute(element, "message")?;
                }
            }
            "skipped" if self.status == CaseStatus::Passed => self.status = CaseStatus::Skipped,
            _ => {}
        }
        Ok(())
    }

    fn finish(self, cases: &mut NamedCases, failures: &mut FailureCollector) {
        cases.add(&self.name, self.status);
        if self.status == CaseStatus::Failed {
            failures.start(&self.name);
            self.message.lines().for_each(|line| failures.line(line));
            failures.close();
        }
    }
}

fn push(open: &mut Option<OpenCase>, text: &str) {
    if let Some(case) = open.as_mut().filter(|case| case.in_failure) {
        case.message.push_str(text);
    }
}

fn attributes(element: &BytesStart<'_>) -> Result<CaseAttributes, ReportError> {
    Ok(CaseAttributes {
        class: attribute(element, "classname")?,
        name: attribute(element, "name")?,
        file: attribute(element, "file")?,
    })
}

/// Returns the value of an attribute, or the empty text.
fn attribute(element: &BytesStart<'_>, name: &str) -> Result<String, ReportError> {
    let attribute = element.try_get_attribute(name);
    let Some(attribute) = attribute.map_err(ReportError::malformed)? else {
        return Ok(String::new());
    };
    let value = unescape(&attribute.value).map_err(ReportError::malformed)?;
    Ok(value.into_owned())
}

/// Resolves a character reference or one of the five entities of XML itself.
fn resolve(reference: &BytesRef<'_>) -> Result<String, ReportError> {
    let escaped = format!("&{};", reference.xml10_content());
    let text = unescape(&escaped).map_err(ReportError::malformed)?;
    Ok(text.into_owned())
}
