//! One subscriber: it gets all events after its sequence number, in order, without gaps or duplicates, as
//! long as it keeps up.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures::{FutureExt, SinkExt};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use windlass_tasks::StoreError;

use super::message::{ClientMessage, ServerNotice};
use crate::access::Caller;
use crate::ring::{EncodedEvent, RingRead, RingStatus, Subscription};
use crate::state::AppState;

/// The maximum number of events that are sent before the client's messages are read again.
const MAX_BATCH: usize = 64;
/// The maximum number of old events per read from the store.
const PAGE_SIZE: u32 = 32;
/// How long sending the close frame may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait before old events are read again from a failed store.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Why the connection ends.
#[derive(Debug)]
enum CloseReason {
    /// The client has disconnected.
    Gone,
    /// Closed by the server, with a code and a reason.
    Close(u16, &'static str),
}

/// Whether more can be sent now.
enum SendState {
    CaughtUp,
    More,
    /// The store must be read again later.
    Later,
}

struct Subscriber {
    socket: WebSocket,
    state: AppState,
    caller: Caller,
    status: watch::Receiver<RingStatus>,
    subscription: Subscription,
    /// All events up to this sequence number were sent or did not match.
    at: u64,
    /// `true` once it has caught up; from then on it reads only from the ring.
    live: bool,
    /// Since when there have been unsent events.
    behind: Option<Instant>,
    sent_stale: bool,
    last_received: Instant,
    /// The number of its messages since the last ping.
    frames: u32,
}

/// Serves a subscriber until it disconnects, is too slow, its token is no longer valid, or the server stops.
pub(super) async fn serve_socket(
    socket: WebSocket,
    state: AppState,
    caller: Caller,
    subscription: Subscription,
) {
    let status = state.ring.subscribe();
    let mut subscriber = Subscriber {
        socket,
        status,
        subscription: Subscription::default(),
        at: 0,
        live: false,
        behind: None,
        sent_stale: false,
        last_received: Instant::now(),
        frames: 0,
        state: state.clone(),
        caller: caller.clone(),
    };
    let stop = subscriber.state.stop.clone();
    let grace = subscriber.state.limits.grace;
    let ended = tokio::select! {
        ended = subscriber.serve(subscription) => ended,
        // Not part of `serve`, which may be waiting for a slow client.
        () = state.authenticator.ended(&caller) => {
            Err(CloseReason::Close(close_code::POLICY, "the token is no longer valid"))
        }
        // A client that does not read cannot receive a close frame either.
        () = async { stop.cancelled().await; sleep_for(grace).await } => return,
    };
    if let Err(CloseReason::Close(code, reason)) = ended {
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, subscriber.socket.send(close)).await;
    }
}

impl Subscriber {
    async fn serve(&mut self, subscription: Subscription) -> Result<(), CloseReason> {
        let stop = self.state.stop.clone();
        let mut ping = interval(self.state.limits.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ping.reset();
        self.subscribe(subscription).await?;
        loop {
            let flow = self.send_pending().await?;
            let pause = match flow {
                SendState::CaughtUp => Duration::MAX,
                SendState::More => Duration::ZERO,
                SendState::Later => STORE_RETRY_DELAY,
            };
            let waits = !pause.is_zero();
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    return Err(CloseReason::Close(close_code::AWAY, "the server is shutting down"));
                }
                _ = ping.tick() => self.ping().await?,
                received = self.socket.recv() => self.read_client(received).await?,
                changed = self.status.changed(), if waits => changed.map_err(|_| CloseReason::Gone)?,
                () = sleep_for(pause) => {}
            }
        }
    }

    /// Starts a subscription.
    async fn subscribe(&mut self, subscription: Subscription) -> Result<(), CloseReason> {
        let mut last = self.state.ring.last();
        if subscription.after.is_some_and(|after| after > last)
            && let Ok(now) = self
                .state
                .whole_store
                .wait_for_events(0, Duration::ZERO)
                .await
        {
            // The client received more events from another server; this one will read them shortly.
            last = now.max(last);
        }
        self.at = subscription.after.unwrap_or(last);
        self.live = subscription.after.is_none();
        self.behind = None;
        self.subscription = Subscription {
            visible: self.caller.projects.clone(),
            ..subscription
        };
        self.send(vec![ServerNotice::Hello { last }.message()])
            .await
    }

    /// Sends the available events, up to a batch.
    async fn send_pending(&mut self) -> Result<SendState, CloseReason> {
        let status = self.status.borrow_and_update().clone();
        self.send_stale_notice(&status).await?;
        match self
            .state
            .ring
            .read_after(self.at, &self.subscription, MAX_BATCH)
        {
            RingRead::Events(found, reached) => {
                if !found.is_empty() {
                    self.check_lag()?;
                    let messages = found.iter().map(|item| message(item)).collect();
                    self.send(messages).await?;
                }
                self.at = reached;
                if self.at < self.state.ring.last() {
                    return Ok(SendState::More);
                }
                self.behind = None;
                self.live = true;
                Ok(SendState::CaughtUp)
            }
            RingRead::Evicted(first) if self.live => {
                self.check_lag()?;
                let (from, to) = (self.at + 1, first - 1);
                self.at = to;
                self.send(vec![ServerNotice::Lagged { from, to }.message()])
                    .await?;
                Ok(SendState::More)
            }
            RingRead::Evicted(_) => self.fetch().await,
        }
    }

    /// Sends a page of events that only the store still has.
    async fn fetch(&mut self) -> Result<SendState, CloseReason> {
        // All events up to here are in the store, so a page that is not full reaches at least this far.
        let known = self.state.ring.last();
        let page = {
            let _permit = self
                .state
                .store_readers
                .acquire()
                .await
                .map_err(|_| CloseReason::Gone)?;
            let filter = self.subscription.filter(self.at, PAGE_SIZE);
            self.state.store_for(&self.caller).events(filter).await
        };
        let page = match page {
            Ok(page) => page,
            Err(StoreError::Timeout { .. } | StoreError::Unavailable(_)) => {
                return Ok(SendState::Later);
            }
            Err(_) => {
                return Err(CloseReason::Close(
                    close_code::ERROR,
                    "the events cannot be read",
                ));
            }
        };
        let last = page.last().map_or(self.at, |event| event.seq);
        let is_full = page.len() >= PAGE_SIZE as usize;
        let messages = page
            .iter()
            .map(|event| message(&EncodedEvent::encode(event)));
        self.send(messages.collect()).await?;
        self.at = if is_full { last } else { last.max(known) };
        Ok(SendState::More)
    }

    /// Sends whether the store can be reached, if the client does not know it yet.
    async fn send_stale_notice(&mut self, status: &RingStatus) -> Result<(), CloseReason> {
        if status.stale.is_some() == self.sent_stale {
            return Ok(());
        }
        self.sent_stale = status.stale.is_some();
        let notice = match &status.stale {
            Some(reason) => ServerNotice::Stale { reason }.message(),
            None => ServerNotice::Fresh.message(),
        };
        self.send(vec![notice]).await
    }

    /// Records that there are unsent events, and fails if that has been the case for too long.
    fn check_lag(&mut self) -> Result<(), CloseReason> {
        let since = *self.behind.get_or_insert_with(Instant::now);
        if self.live && since.elapsed() > self.state.limits.behind {
            return Err(too_slow());
        }
        Ok(())
    }

    /// Sends messages. A client that does not accept them in time is too slow.
    async fn send(&mut self, messages: Vec<Message>) -> Result<(), CloseReason> {
        let socket = &mut self.socket;
        let writing = async {
            for message in messages {
                socket.feed(message).await?;
            }
            socket.flush().await
        };
        match tokio::time::timeout(self.state.limits.behind, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(CloseReason::Gone),
            Err(_) => Err(too_slow()),
        }
    }

    async fn ping(&mut self) -> Result<(), CloseReason> {
        if self.last_received.elapsed() > self.state.limits.ping * 3 {
            return Err(CloseReason::Gone);
        }
        self.frames = 0;
        self.send(vec![Message::Ping(Bytes::new())]).await
    }

    /// Handles the client's messages that have already arrived.
    async fn read_client(
        &mut self,
        received: Option<Result<Message, axum::Error>>,
    ) -> Result<(), CloseReason> {
        let mut received = received;
        loop {
            let message = received
                .ok_or(CloseReason::Gone)?
                .map_err(|_| CloseReason::Gone)?;
            self.last_received = Instant::now();
            self.frames += 1;
            if self.frames > self.state.limits.frames {
                return Err(CloseReason::Close(close_code::POLICY, "too many messages"));
            }
            match message {
                Message::Text(text) => self.on_client_message(&text).await?,
                Message::Binary(_) => {
                    return Err(CloseReason::Close(
                        close_code::UNSUPPORTED,
                        "only text messages are supported",
                    ));
                }
                Message::Close(_) => return Err(CloseReason::Gone),
                Message::Ping(_) | Message::Pong(_) => {}
            }
            match self.socket.recv().now_or_never() {
                Some(next) => received = next,
                None => return Ok(()),
            }
        }
    }

    async fn on_client_message(&mut self, text: &str) -> Result<(), CloseReason> {
        match serde_json::from_str(text) {
            Ok(ClientMessage::Subscribe {
                project_id,
                task_id,
                after,
            }) => {
                self.subscribe(Subscription {
                    project: project_id,
                    task: task_id,
                    after,
                    visible: None,
                })
                .await
            }
            Err(error) => {
                let message = error.to_string();
                self.send(vec![ServerNotice::Error { message: &message }.message()])
                    .await
            }
        }
    }
}

fn message(event: &EncodedEvent) -> Message {
    Message::Text(event.text.clone())
}

fn too_slow() -> CloseReason {
    CloseReason::Close(
        close_code::AGAIN,
        "too slow: reconnect with the last sequence number",
    )
}

/// Sleeps for the given time; [`Duration::MAX`] means forever.
async fn sleep_for(time: Duration) {
    match time {
        Duration::ZERO => {}
        Duration::MAX => std::future::pending().await,
        time => tokio::time::sleep(time).await,
    }
}
