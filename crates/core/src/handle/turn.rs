//! One turn, from prompt to terminal event.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt;
use futures::future;
use tokio::sync::mpsc;

use super::sender::{EventSender, SentEvent};
use super::turn_end::TurnEnd;
use super::{TurnGuard, unwind};
use crate::limits::TurnLimits;
use crate::{AgentBackend, AgentEvent, Clock, EventStream, Masker, Prompt, SessionId};

/// The state of a turn, owned by its task.
pub(super) struct TurnTask {
    pub(super) backend: Arc<dyn AgentBackend>,
    pub(super) name: &'static str,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: TurnLimits,
    pub(super) masker: Masker,
    pub(super) session: SessionId,
    pub(super) running: TurnGuard,
}

impl TurnTask {
    pub(super) async fn run(mut self, mut prompt: Prompt, sender: mpsc::Sender<SentEvent>) {
        if let Some(limit) = prompt.timeout.take() {
            self.limits.deadline = limit;
        }
        let mut out = EventSender::new(
            Arc::clone(&self.clock),
            self.limits.event_bytes,
            self.masker.clone(),
            sender,
        );
        let mut stream = None;
        let mut end = self.pump(prompt, &mut stream, &mut out).await;
        if matches!(
            end,
            TurnEnd::Cancelled
                | TurnEnd::TimedOut(..)
                | TurnEnd::OutputLimit
                | TurnEnd::ReceiverDropped
        ) {
            end = self.cancel_and_drain(end, stream.as_mut(), &mut out).await;
        }
        // The agent's processes have ended and its session is free before the terminal event is sent.
        let _ = unwind::catch(|| drop(stream));
        drop(self.running);
        out.close(end.into_terminal(self.name)).await;
        tracing::info!(events = out.sent_count(), "turn ended");
    }

    /// Forwards events until the turn ends.
    async fn pump(
        &self,
        prompt: Prompt,
        slot: &mut Option<EventStream>,
        out: &mut EventSender,
    ) -> TurnEnd {
        let channel = out.channel();
        let interrupted = async {
            tokio::select! {
                () = self.clock.sleep(self.limits.deadline) => {
                    TurnEnd::TimedOut("the turn", self.limits.deadline)
                }
                () = self.running.stop.cancelled() => TurnEnd::Cancelled,
                () = channel.closed() => TurnEnd::ReceiverDropped,
            }
        };
        let work = async {
            let call = async { self.backend.prompt(&self.session, prompt).await };
            let stream = match unwind::catch_async(call).await {
                Ok(Ok(stream)) => slot.insert(stream),
                Ok(Err(error)) => return TurnEnd::Failed(error),
                Err(panic) => return TurnEnd::Failed(panic.into_error(self.name)),
            };
            self.forward(stream, out, self.limits.stall).await
        };
        tokio::select! {
            biased;
            end = interrupted => end,
            end = work => end,
        }
    }

    /// Forwards events until the stream ends, stalls or exceeds the size limit.
    async fn forward(
        &self,
        stream: &mut EventStream,
        out: &mut EventSender,
        stall: Option<Duration>,
    ) -> TurnEnd {
        loop {
            // A stream that is always ready must not keep the turn from being cancelled.
            tokio::task::coop::consume_budget().await;
            if !out.has_room()
                && let Err(end) = out.flush().await
            {
                return end;
            }
            let mut next = pin!(unwind::catch_async(stream.next()));
            // Events that are ready need no timer and are sent together.
            let next = match futures::poll!(&mut next) {
                Poll::Ready(next) => next,
                Poll::Pending => {
                    // Time spent on a slow reader does not count as a stall.
                    if let Err(end) = out.flush().await {
                        return end;
                    }
                    tokio::select! {
                        next = next => next,
                        () = self.stalled(stall) => {
                            return TurnEnd::TimedOut("waiting for the next event", stall.unwrap_or_default());
                        }
                    }
                }
            };
            match next {
                Ok(Some(event)) if event.event.is_terminal() => {
                    return TurnEnd::Terminal(Box::new(event));
                }
                Ok(Some(event)) => {
                    if let Err(end) = out.push(event, self.limits.turn_bytes) {
                        return end;
                    }
                }
                Ok(None) => return TurnEnd::MissingTerminal,
                Err(panic) => return TurnEnd::Failed(panic.into_error(self.name)),
            }
        }
    }

    /// Waits for the limit between two events, if there is one.
    async fn stalled(&self, limit: Option<Duration>) {
        match limit {
            Some(limit) => self.clock.sleep(limit).await,
            None => future::pending().await,
        }
    }

    /// Cancels the turn in the backend and waits for its end, at most for the grace period.
    ///
    /// If the backend finished while it was being cancelled, its result counts.
    async fn cancel_and_drain(
        &self,
        reason: TurnEnd,
        stream: Option<&mut EventStream>,
        out: &mut EventSender,
    ) -> TurnEnd {
        let streaming = stream.is_some();
        let cancelled = async {
            let call = async { self.backend.cancel(&self.session).await };
            match unwind::catch_async(call).await {
                Ok(Ok(())) if streaming => future::pending().await,
                _ => TurnEnd::MissingTerminal,
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
            () = self.clock.sleep(self.limits.grace) => TurnEnd::MissingTerminal,
        };
        match (&reason, finished) {
            (TurnEnd::Cancelled, TurnEnd::Terminal(done)) if is_result(&done.event) => {
                TurnEnd::Terminal(done)
            }
            _ => reason,
        }
    }
}

fn is_result(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Result { .. })
}
