//! A backend that does everything wrong, with one flaw for each case.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt};
use futures::{StreamExt, stream};
use windlass_core::{
    AgentBackend, AgentEvent, AgentHandle, BackendEvent, Capabilities, Error, EventStream, Prompt,
    Result, SessionId, SessionOptions, ready_events,
};
use windlass_testkit::MockAgent;
use windlass_testkit::conformance::{Action, BackendUnderTest, CaseScript};

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// It gives a wrong answer.
    WrongAnswer,
    SameSessionId,
    AcceptsUnknownSessions,
    LosesSession,
    NoTerminalEvent,
    LosesText,
    LeavesToolsOpen,
    RunningTotal,
    IgnoresCancel,
    AcceptsAnySchema,
    LeavesProcesses,
}

impl Flaw {
    /// Returns the flaw that a case has to detect.
    fn for_case(case: &str) -> Self {
        match case {
            "session: several" => Self::SameSessionId,
            "session: unknown, resumed" | "session: unknown, prompted" => {
                Self::AcceptsUnknownSessions
            }
            "events: grammar" => Self::NoTerminalEvent,
            "events: streamed text" => Self::LosesText,
            "tools: paired" => Self::LeavesToolsOpen,
            "usage: per turn" => Self::RunningTotal,
            "cancel: after the end" | "cancel: and then a new turn" => Self::LosesSession,
            "processes: none left" => Self::LeavesProcesses,
            "schema: native" => Self::AcceptsAnySchema,
            _ if case.starts_with("cancel") || case.starts_with("time") => Self::IgnoresCancel,
            _ => Self::WrongAnswer,
        }
    }
}

/// A backend whose agents have the flaw that each case has to detect.
#[derive(Debug, Default)]
pub(crate) struct Bad {
    processes: AtomicUsize,
}

impl BackendUnderTest for Bad {
    fn agent<'a>(&'a self, script: &'a CaseScript) -> BoxFuture<'a, Result<AgentHandle>> {
        let flaw = Flaw::for_case(&script.case);
        let left = usize::from(flaw == Flaw::LeavesProcesses);
        self.processes.store(left, Ordering::SeqCst);
        let script = match flaw {
            Flaw::WrongAnswer => wrong(script),
            _ => script.clone(),
        };
        let agent = AgentHandle::wrap(BadAgent {
            inner: script.mock(),
            flaw,
            turns: AtomicUsize::new(0),
            written: Arc::default(),
        });
        async { Ok(agent) }.boxed()
    }

    fn live_processes(&self) -> Vec<String> {
        vec!["17 node".to_owned(); self.processes.load(Ordering::SeqCst)]
    }
}

/// Returns the script with its last action changed.
fn wrong(script: &CaseScript) -> CaseScript {
    let mut script = script.clone();
    if let Some(turn) = script.turns.last_mut() {
        turn.act = match &turn.act {
            Action::UseTool { say, .. } => Action::UseTool {
                succeeds: true,
                say: say.clone(),
            },
            Action::EchoPrompt => Action::Say(turn.prompt.chars().rev().collect()),
            Action::RecallFirstPrompt => Action::Say("The word is basalt.".to_owned()),
            _ => Action::Say("What?".to_owned()),
        };
    }
    script
}

#[derive(Debug)]
struct BadAgent {
    inner: MockAgent,
    flaw: Flaw,
    turns: AtomicUsize,
    written: Arc<AtomicU64>,
}

impl BadAgent {
    /// Applies the flaw to the events.
    fn apply(&self, events: EventStream) -> EventStream {
        let flaw = self.flaw;
        let written = Arc::clone(&self.written);
        let mut texts = 0;
        let flawed = events.filter_map(move |mut emitted| {
            match &mut emitted.event {
                AgentEvent::Text(_) => texts += 1,
                AgentEvent::Result {
                    usage: Some(usage), ..
                } if flaw == Flaw::RunningTotal => {
                    let before = written.fetch_add(usage.output_tokens, Ordering::SeqCst);
                    usage.output_tokens += before;
                }
                _ => {}
            }
            let lost = match &emitted.event {
                AgentEvent::Text(_) => flaw == Flaw::LosesText && texts == 1,
                AgentEvent::ToolEnd { .. } => flaw == Flaw::LeavesToolsOpen,
                event => event.is_terminal() && flaw == Flaw::NoTerminalEvent,
            };
            std::future::ready((!lost).then_some(emitted))
        });
        Box::pin(flawed)
    }
}

impl AgentBackend for BadAgent {
    fn name(&self) -> &'static str {
        "bad"
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn new_session(&self, mut options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        if self.flaw == Flaw::AcceptsAnySchema {
            options.output_schema = None;
        }
        async move {
            let id = self.inner.new_session(options).await?;
            Ok(match self.flaw {
                Flaw::SameSessionId => "mock-1".into(),
                _ => id,
            })
        }
        .boxed()
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        match self.flaw {
            Flaw::AcceptsUnknownSessions => async { Ok(()) }.boxed(),
            _ => self.inner.load_session(id, options),
        }
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        let turn = self.turns.fetch_add(1, Ordering::SeqCst);
        async move {
            match self.flaw {
                Flaw::AcceptsUnknownSessions => {
                    return Ok(ready_events([AgentEvent::result("Hello!")]));
                }
                Flaw::LosesSession if turn > 0 => {
                    return Err(Error::SessionNotFound {
                        backend: "bad".to_owned(),
                        session: id.clone(),
                    });
                }
                _ => {}
            }
            let events = self.apply(self.inner.prompt(id, prompt).await?);
            Ok(match self.flaw {
                // Hangs even if the inner turn has ended.
                Flaw::IgnoresCancel => Box::pin(events.chain(stream::pending::<BackendEvent>())),
                _ => events,
            })
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        self.inner.cancel(id)
    }
}
