//! The providers' official SDKs parse every response.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;
use windlass_scripted::{Script, ScriptedModel};

use super::tools::install;

/// Runs a Python script against its own model, and checks that only its deliberate requests were unexpected.
async fn sdk(name: &str, unexpected: u64) {
    let python = install("sdk", "venv-sdk").join("bin/python");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let script = Script::read(&tests.join("scripts/sdk.json")).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let model = ScriptedModel::start(script, listen).await.unwrap();
    let mut command = Command::new(python);
    command
        .env_clear()
        .arg("-B") // Writes no compiled files into the repository.
        .arg(tests.join("sdk").join(name))
        .arg(model.url())
        .kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await;
    let output = output
        .unwrap_or_else(|_| panic!("{name} hangs: {}", model.report()))
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let details = format!(
        "{}{}\n{}",
        text(&output.stdout),
        text(&output.stderr),
        model.report()
    );
    assert!(output.status.success(), "{details}");
    assert!(output.stdout.ends_with(b"ok\n"), "{details}");
    let report = model.stop().await;
    assert_eq!(report.unexpected, unexpected, "{report}");
}

#[tokio::test]
async fn anthropic_sdk() {
    sdk("use_anthropic.py", 1).await;
}

#[tokio::test]
async fn openai_sdk() {
    sdk("use_openai.py", 2).await;
}

#[tokio::test]
async fn google_sdk() {
    sdk("use_gemini.py", 1).await;
}

#[tokio::test]
async fn ollama_sdk() {
    sdk("use_ollama.py", 1).await;
}
