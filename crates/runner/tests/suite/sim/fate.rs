//! A future that is not let be: dropped between two of its steps, or stopped for a while like a process by SIGSTOP.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

/// What happens to a future, counted in the steps that it is polled.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plan {
    /// It is dropped at this step.
    pub(crate) crash: Option<u32>,
    /// At this step it stands still for so long.
    pub(crate) pause: Option<(u32, Duration)>,
}

/// A future under its fate. It gives `None` when it crashed.
pub(crate) struct Fated<T> {
    inner: Option<BoxFuture<'static, T>>,
    plan: Plan,
    steps: u32,
    standing: Option<BoxFuture<'static, ()>>,
}

impl<T> Fated<T> {
    pub(crate) fn new(inner: BoxFuture<'static, T>, plan: Plan) -> Self {
        Self {
            inner: Some(inner),
            plan,
            steps: 0,
            standing: None,
        }
    }
}

impl<T> Future for Fated<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(standing) = &mut self.standing {
            std::task::ready!(standing.as_mut().poll(cx));
            self.standing = None;
        }
        self.steps += 1;
        if self.plan.crash == Some(self.steps) {
            self.inner = None;
            return Poll::Ready(None);
        }
        if let Some((at, pause)) = self.plan.pause
            && at == self.steps
        {
            let mut standing: BoxFuture<'static, ()> = Box::pin(tokio::time::sleep(pause));
            if standing.as_mut().poll(cx).is_pending() {
                self.standing = Some(standing);
                return Poll::Pending;
            }
        }
        match &mut self.inner {
            Some(inner) => inner.as_mut().poll(cx).map(Some),
            None => Poll::Ready(None),
        }
    }
}
