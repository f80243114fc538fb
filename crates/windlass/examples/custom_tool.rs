//! A custom tool: describe its input with a JSON schema, implement one method, and give it to a model.
//!
//! Run it with `cargo run -p windlass --example custom_tool`. A scripted model replaces a real one.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use windlass_agents::AgentContext;
use windlass_agents::model::{ModelAgent, ModelKind, ModelSettings, execute};
use windlass_core::{
    DirAccess, Result, SessionOptions, Tool, ToolKind, ToolOutput, ToolSpec, Toolbox,
};
use windlass_sandbox::{Host, Sandbox, init};
use windlass_scripted::{Script, ScriptedModel};

/// Tells the model how many words a text has.
#[derive(Debug)]
struct CountWords {
    spec: ToolSpec,
}

impl CountWords {
    fn new() -> Self {
        Self {
            spec: ToolSpec::new(
                "count_words",
                // A tool that only reads needs no permission; the others are subject to the rules of the session.
                ToolKind::Read,
                "Counts the words of a text.",
                json!({
                    "type": "object",
                    "properties": { "text": { "type": "string" } },
                    "required": ["text"],
                }),
            ),
        }
    }
}

impl Tool for CountWords {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<ToolOutput>> {
        // Invalid input is an output that the model can read and correct, not an error of the turn.
        let output = match input["text"].as_str() {
            Some(text) => {
                let count = text.split_whitespace().count();
                ToolOutput::success(format!("{count} words"), json!({ "count": count }))
            }
            None => ToolOutput::failure("text is missing", Value::Null),
        };
        async { Ok(output) }.boxed()
    }
}

/// The tools of a session. A tool that works on files would keep the directory and respect the access.
#[derive(Debug)]
struct Words;

impl Toolbox for Words {
    fn tools(&self, _: &Path, _: DirAccess) -> Result<Vec<Arc<dyn Tool>>> {
        Ok(vec![Arc::new(CountWords::new())])
    }
}

/// The model calls the tool, then answers.
const SCRIPT: &str = r#"{ "turns": [
  { "answer": [{ "call": { "name": "count_words", "arguments": { "text": "heave and haul" } } }] },
  { "when": { "contains": "3 words" }, "answer": [{ "text": "It has three words." }] }
] }"#;

fn main() -> anyhow::Result<()> {
    // A program that uses the sandbox is also its init process. In that case this call does not return.
    init::run_if_invoked();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let model =
        ScriptedModel::start(Script::parse(SCRIPT, "script")?, "127.0.0.1:0".parse()?).await?;
    let settings = ModelSettings::from_value(&json!({ "endpoint": model.url(), "model": "m" }))?;
    let dir = tempfile::tempdir()?;
    let sandbox = Sandbox::detect(Host::current()).await?;
    let context = AgentContext::new(sandbox, dir.path().join("state"));
    let agent = ModelAgent::new(ModelKind::OpenAi, settings, context, Arc::new(Words))?.handle();

    let options = SessionOptions::in_dir(dir.path());
    let done = execute(&agent, "How long is \"heave and haul\"?", options).await?;
    writeln!(std::io::stdout(), "{} steps: {}", done.steps, done.last)?;
    anyhow::ensure!(done.last == "It has three words.");
    Ok(())
}
