//! One turn, from prompt to terminal event.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{self, BoxFuture, FutureExt};
use tokio::sync::mpsc;

use super::outlet::Outlet;
use super::{RunningTurn, guard};
use crate::limits::TurnLimits;
use crate::{
    AgentBackend, AgentEvent, Clock, Emitted, Envelope, Error, ErrorCode, EventStream, Prompt,
    SessionId, TurnId,
};

/// Everything a turn needs, owned by its task.
pub(super) struct Turn {
    pub(super) backend: Arc<dyn AgentBackend>,
    pub(super) name: &'static str,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: TurnLimits,
    pub(super) session: SessionId,
    pub(super) id: TurnId,
    pub(super) running: RunningTurn,
}

/// Why a turn came to its end.
pub(super) enum End {
    /// The backend said how it ended.
    Terminal(Box<Emitted>),
    /// The stream ended without saying how.
    Silent,
    /// The backend refused or failed.
    Failed(Error),
    /// Somebody cancelled.
    Cancelled,
    /// Time ran out: what was waited for, how long.
    TimedOut(&'static str, Duration),
    /// More came than the limits allow.
    Flood,
    /// Nobody reads any more.
    Unread,
}

impl Turn {
    pub(super) async fn run(mut self, mut prompt: Prompt, sender: mpsc::Sender<Envelope>) {
        if let Some(limit) = prompt.timeout.take() {
            self.limits.deadline = limit;
        }
        let mut out = Outlet::new(&self, sender);
        let mut stream = None;
        let mut end = self.pump(prompt, &mut stream, &mut out).await;
        if matches!(
            end,
            End::Cancelled | End::TimedOut(..) | End::Flood | End::Unread
        ) {
            end = self.wind_down(end, stream.as_mut(), &mut out).await;
        }
        // The agent's processes are gone, and its session is free, before anyone is told of the end.
        let _ = guard::call(|| drop(stream));
        drop(self.running);
        out.close(terminal(end, self.name)).await;
        tracing::info!(events = out.sent(), "turn ended");
    }

    /// Passes events on until something ends the turn.
    async fn pump(&self, prompt: Prompt, slot: &mut Option<EventStream>, out: &mut Outlet) -> End {
        let unread = out.sender();
        let interrupted = async {
            tokio::select! {
                () = self.clock.sleep(self.limits.deadline) => {
                    End::TimedOut("the turn", self.limits.deadline)
                }
                () = self.running.stop.cancelled() => End::Cancelled,
                () = unread.closed() => End::Unread,
            }
        };
        let work = async {
            let asked = async { self.backend.prompt(&self.session, prompt).await };
            let stream = match guard::poll(asked).await {
                Ok(Ok(stream)) => slot.insert(stream),
                Ok(Err(error)) => return End::Failed(error),
                Err(panic) => return End::Failed(panic.into_error(self.name)),
            };
            self.forward(stream, out, self.limits.stall).await
        };
        tokio::select! {
            biased;
            end = interrupted => end,
            end = work => end,
        }
    }

    /// Passes events on until the stream ends, stalls or floods.
    async fn forward(
        &self,
        stream: &mut EventStream,
        out: &mut Outlet,
        stall: Option<Duration>,
    ) -> End {
        loop {
            // First what an interruption left behind. Time spent on a slow reader is not the backend's.
            if let Err(end) = out.flush().await {
                return end;
            }
            let stalled: BoxFuture<'_, ()> = match stall {
                Some(limit) => self.clock.sleep(limit),
                None => future::pending().boxed(),
            };
            let next = tokio::select! {
                next = guard::poll(stream.next()) => next,
                () = stalled => {
                    return End::TimedOut("waiting for the next event", stall.unwrap_or_default());
                }
            };
            match next {
                Ok(Some(emitted)) if emitted.event.is_terminal() => {
                    return End::Terminal(Box::new(emitted));
                }
                Ok(Some(emitted)) => {
                    if let Err(end) = out.admit(emitted, self.limits.turn_bytes) {
                        return end;
                    }
                }
                Ok(None) => return End::Silent,
                Err(panic) => return End::Failed(panic.into_error(self.name)),
            }
        }
    }

    /// Asks the backend to stop and lets it, for as long as the grace allows.
    ///
    /// A backend that finished while it was being cancelled has finished: its result counts.
    async fn wind_down(
        &self,
        reason: End,
        stream: Option<&mut EventStream>,
        out: &mut Outlet,
    ) -> End {
        let streaming = stream.is_some();
        let cancelled = async {
            let asked = async { self.backend.cancel(&self.session).await };
            match guard::poll(asked).await {
                Ok(Ok(())) if streaming => future::pending().await,
                _ => End::Silent,
            }
        };
        let drained = async {
            match stream {
                Some(stream) => self.forward(stream, out, None).await,
                None => future::pending().await,
            }
        };
        let finished = tokio::select! {
            biased;
            end = drained => end,
            end = cancelled => end,
            () = self.clock.sleep(self.limits.grace) => End::Silent,
        };
        match (&reason, finished) {
            (End::Cancelled, End::Terminal(done)) if is_result(&done.event) => End::Terminal(done),
            _ => reason,
        }
    }
}

fn is_result(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Result { .. })
}

/// The terminal event for each way to end.
fn terminal(end: End, backend: &str) -> Emitted {
    let error = match end {
        End::Terminal(emitted) => return *emitted,
        End::Failed(error) => error,
        End::Cancelled | End::Unread => Error::Cancelled,
        End::TimedOut(what, after) => Error::Timeout {
            what: what.to_owned(),
            after,
        },
        End::Silent => Error::agent(
            ErrorCode::BackendError,
            format!("{backend} ended the turn without saying how it ended"),
        ),
        End::Flood => Error::agent(
            ErrorCode::OutputLimit,
            format!("{backend} sent more than one turn may hold"),
        ),
    };
    AgentEvent::from(error).into()
}
