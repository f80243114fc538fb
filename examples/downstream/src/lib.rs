//! A backend that answers from a table.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::{BoxFuture, FutureExt};
use windlass_core::{
    AgentBackend, AgentEvent, Capabilities, Error, EventStream, Prompt, Result, SessionId,
    SessionOptions, event_stream,
};

/// What the agent does with a prompt.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Answers with this text.
    Text(String),
    /// Answers with the first prompt of the session.
    FirstPrompt,
    /// Emits this text, if it is not empty, and never ends.
    Hang(String),
}

/// A backend that answers from a table; an unknown prompt is answered with itself.
#[derive(Debug, Default)]
pub struct TableAgent {
    answers: HashMap<String, Answer>,
    /// The first prompt of each session.
    sessions: Mutex<HashMap<String, Option<String>>>,
    count: AtomicU64,
}

impl TableAgent {
    /// Creates an agent from prompts and answers.
    pub fn new(answers: impl IntoIterator<Item = (String, Answer)>) -> Self {
        Self {
            answers: answers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Records a prompt, and returns the first prompt of its session.
    fn remember(&self, session: &SessionId, prompt: &str) -> Result<String> {
        let mut sessions = self
            .sessions
            .lock()
            .unwrap_or_else(|error| error.into_inner());
        let first = sessions
            .get_mut(session.as_str())
            .ok_or_else(|| Error::SessionNotFound {
                backend: "table".to_owned(),
                session: session.clone(),
            })?;
        Ok(first.get_or_insert_with(|| prompt.to_owned()).clone())
    }
}

impl AgentBackend for TableAgent {
    fn name(&self) -> &'static str {
        "table"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            ..Capabilities::default()
        }
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        if options.output_schema.is_some() {
            let error = Error::unsupported("table", "enforce a schema: put it into the prompt");
            return async { Err(error) }.boxed();
        }
        let name = format!("table-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let mut sessions = self
            .sessions
            .lock()
            .unwrap_or_else(|error| error.into_inner());
        sessions.insert(name.clone(), None);
        async move { Ok(name.into()) }.boxed()
    }

    fn prompt<'a>(
        &'a self,
        session: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        let first = self.remember(session, &prompt.text);
        let answer = self.answers.get(&prompt.text).cloned();
        async move {
            let first = first?;
            let answer = answer.unwrap_or(Answer::Text(prompt.text));
            Ok(event_stream(|sink| async move {
                let text = match answer {
                    Answer::Text(text) => text,
                    Answer::FirstPrompt => first,
                    Answer::Hang(text) => {
                        if !text.is_empty() {
                            sink.send(AgentEvent::Text(text)).await;
                        }
                        return futures::future::pending().await;
                    }
                };
                sink.send(AgentEvent::Text(text.clone())).await;
                sink.send(AgentEvent::result(text)).await;
            }))
        }
        .boxed()
    }
}
