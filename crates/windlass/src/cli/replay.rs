//! `windlass replay`: replays a cassette.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use windlass_core::{AgentHandle, SessionId, SessionOptions, registry};
use windlass_testkit::ReplayConfig;

use super::app::App;
use super::ask;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::turn_printer::{OutputMode, TurnPrinter};

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Cassette to replay
    cassette: PathBuf,
    /// Prompt to replay (default: all prompts of the cassette, in order)
    prompt: Option<String>,
    /// Working directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    cwd: PathBuf,
    /// Replay events with their recorded timing
    #[arg(long)]
    recorded_timing: bool,
    /// Output format: the answer as text, one JSON object at the end, or every event as a line of JSON
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputMode,
}

impl Replay {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let timing = if self.recorded_timing {
            "recorded"
        } else {
            "instant"
        };
        let config: ReplayConfig =
            registry::parse_config(&json!({ "cassette": self.cassette, "timing": timing }))?;
        let replay = config.into_agent()?;
        let prompts = match &self.prompt {
            Some(prompt) => vec![("any".into(), prompt.clone())],
            None => replay.prompts(),
        };
        self.replay_prompts(app, &AgentHandle::wrap(replay), prompts)
            .await
    }

    async fn replay_prompts(
        &self,
        app: &App<'_>,
        agent: &AgentHandle,
        prompts: Vec<(SessionId, String)>,
    ) -> Result<Exit, CliError> {
        let options = SessionOptions::in_dir(ask::absolute_dir(&self.cwd)?);
        let mut interrupts = Interrupts::listen()?;
        let mut sessions = HashMap::new();
        let mut exit = Exit::Done;
        for (recorded, prompt) in prompts {
            let session = match sessions.get(&recorded) {
                Some(session) => SessionId::clone(session),
                None => agent.new_session(options.clone()).await?,
            };
            sessions.insert(recorded, session.clone());
            let turn = agent.prompt(&session, prompt).await?;
            let printer = TurnPrinter::new(app.console, self.output, "replay");
            let ended = ask::follow_to_end(agent, &session, turn, printer, &mut interrupts).await?;
            if ended != Exit::Done {
                exit = ended;
            }
        }
        Ok(exit)
    }
}
