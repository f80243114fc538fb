//! A future that is interrupted: dropped between two polls, or paused like a process by SIGSTOP.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

/// When a future is interrupted, counted in polls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interruption {
    /// Drops the future at this poll.
    pub(crate) crash: Option<u32>,
    /// Pauses the future at this poll for this long.
    pub(crate) pause: Option<(u32, Duration)>,
}

/// A future with an interruption. Its output is `None` if it was dropped.
pub(crate) struct Interrupted<T> {
    inner: Option<BoxFuture<'static, T>>,
    interruption: Interruption,
    polls: u32,
    paused: Option<BoxFuture<'static, ()>>,
}

impl<T> Interrupted<T> {
    pub(crate) fn new(inner: BoxFuture<'static, T>, interruption: Interruption) -> Self {
        Self {
            inner: Some(inner),
            interruption,
            polls: 0,
            paused: None,
        }
    }
}

impl<T> Future for Interrupted<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(paused) = &mut self.paused {
            std::task::ready!(paused.as_mut().poll(cx));
            self.paused = None;
        }
        self.polls += 1;
        if self.interruption.crash == Some(self.polls) {
            self.inner = None;
            return Poll::Ready(None);
        }
        if let Some((at, pause)) = self.interruption.pause
            && at == self.polls
        {
            let mut paused: BoxFuture<'static, ()> = Box::pin(tokio::time::sleep(pause));
            if paused.as_mut().poll(cx).is_pending() {
                self.paused = Some(paused);
                return Poll::Pending;
            }
        }
        match &mut self.inner {
            Some(inner) => inner.as_mut().poll(cx).map(Some),
            None => Poll::Ready(None),
        }
    }
}
