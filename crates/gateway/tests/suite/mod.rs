//! The test suite. Each file is named after its subject.

mod agent_api;
mod agent_api_errors;
mod agent_api_harness;
mod agent_api_setup;
#[path = "../../../scripted/tests/suite/curl.rs"]
mod curl;
#[expect(dead_code, reason = "the tests of `scripted` use more of it")]
#[path = "../../../scripted/tests/suite/harness.rs"]
mod harness;
mod real_agent_api;
mod relay;
#[path = "../../../scripted/tests/suite/tools.rs"]
mod tools;
mod transcript_tools;
