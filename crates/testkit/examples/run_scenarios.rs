//! Runs scenario tests against an agent, and prints the JUnit report.
//!
//! Run it with `cargo run -p windlass-testkit --example run_scenarios`.

use std::io::Write;

use windlass_core::AgentHandle;
use windlass_testkit::MockAgent;
use windlass_testkit::scenario::run_scenarios;

/// The mock echoes the prompt; `docs/scenarios.md` describes the format.
const SCENARIO: &str = r#"{
  "name": "echo",
  "prompt": "Say hello",
  "expected_events": [{ "type": "Result", "contains": "hello" }]
}"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("echo.json"), SCENARIO)?;
    let agent = AgentHandle::wrap(MockAgent::new());
    let report = run_scenarios(&agent, dir.path()).await?;
    writeln!(std::io::stdout(), "{}", report.junit())?;
    assert_eq!((report.passed(), report.failed()), (1, 0));
    Ok(())
}
