//! One reader: told everything after its number, in order, without gap or double, for as long as it keeps up.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures::{FutureExt, SinkExt};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use windlass_core::task::StoreError;

use super::message::{ClientMessage, ServerNotice, Subscription};
use super::ring::{EncodedEvent, RingRead, RingStatus};
use crate::state::AppState;

/// How many messages are written before the reader is listened to again.
const MAX_BATCH: usize = 64;
/// How many old messages are read from the store at a time.
const PAGE_SIZE: u32 = 32;
/// How long a goodbye may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How soon a store in trouble is asked again for old messages.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Why a conversation ends.
#[derive(Debug)]
enum CloseReason {
    /// The reader is gone.
    Gone,
    /// It is told why.
    Close(u16, &'static str),
}

/// Whether there is more to be sent at once.
enum SendState {
    CaughtUp,
    More,
    /// The store must be asked again in a while.
    Later,
}

struct Subscriber {
    socket: WebSocket,
    shared: AppState,
    news: watch::Receiver<RingStatus>,
    wanted: Subscription,
    /// Everything up to this number was sent, or was not wanted.
    at: u64,
    /// It has once had everything; from then on the ring is its only source.
    live: bool,
    /// Since when there has always been something to send.
    behind: Option<Instant>,
    told_stale: bool,
    heard: Instant,
    /// How many messages it sent since the last ping.
    frames: u32,
}

/// Serves a reader until it leaves, is too slow, or the server stops.
pub(super) async fn serve_socket(socket: WebSocket, shared: AppState, wanted: Subscription) {
    let news = shared.ring.subscribe();
    let mut reader = Subscriber {
        socket,
        news,
        wanted: Subscription::default(),
        at: 0,
        live: false,
        behind: None,
        told_stale: false,
        heard: Instant::now(),
        frames: 0,
        shared,
    };
    let stop = reader.shared.stop.clone();
    let grace = reader.shared.limits.grace;
    let ended = tokio::select! {
        ended = reader.serve(wanted) => ended,
        // One that does not read cannot be told either.
        () = async { stop.cancelled().await; sleep_for(grace).await } => return,
    };
    if let Err(CloseReason::Close(code, reason)) = ended {
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, reader.socket.send(close)).await;
    }
}

impl Subscriber {
    async fn serve(&mut self, wanted: Subscription) -> Result<(), CloseReason> {
        let stop = self.shared.stop.clone();
        let mut ping = interval(self.shared.limits.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ping.reset();
        self.subscribe(wanted).await?;
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
                () = stop.cancelled() => return Err(CloseReason::Close(close_code::AWAY, "the server stops")),
                _ = ping.tick() => self.ping().await?,
                said = self.socket.recv() => self.read_client(said).await?,
                changed = self.news.changed(), if waits => changed.map_err(|_| CloseReason::Gone)?,
                () = sleep_for(pause) => {}
            }
        }
    }

    /// Begins a subscription.
    async fn subscribe(&mut self, wanted: Subscription) -> Result<(), CloseReason> {
        let mut last = self.shared.ring.last();
        if wanted.after.is_some_and(|after| after > last)
            && let Ok(now) = self.shared.store.wait_for_events(0, Duration::ZERO).await
        {
            // It heard more at another server, of which this one will hear in a moment.
            last = now.max(last);
        }
        self.at = wanted.after.unwrap_or(last);
        self.live = wanted.after.is_none();
        self.behind = None;
        self.wanted = wanted;
        self.send(vec![ServerNotice::Hello { last }.message()])
            .await
    }

    /// Sends what there is, up to a batch.
    async fn send_pending(&mut self) -> Result<SendState, CloseReason> {
        let news = self.news.borrow_and_update().clone();
        self.send_stale_notice(&news).await?;
        match self
            .shared
            .ring
            .read_after(self.at, &self.wanted, MAX_BATCH)
        {
            RingRead::Events(found, reached) => {
                if !found.is_empty() {
                    self.check_lag()?;
                    let messages = found.iter().map(|item| message(item)).collect();
                    self.send(messages).await?;
                }
                self.at = reached;
                if self.at < self.shared.ring.last() {
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

    /// Sends a page of what only the store still has.
    async fn fetch(&mut self) -> Result<SendState, CloseReason> {
        // Everything up to here is in the store, so a page that is not full reaches at least so far.
        let known = self.shared.ring.last();
        let page = {
            let _turn = self
                .shared
                .readers
                .acquire()
                .await
                .map_err(|_| CloseReason::Gone)?;
            let filter = self.wanted.filter(self.at, PAGE_SIZE);
            self.shared.store.events(filter).await
        };
        let page = match page {
            Ok(page) => page,
            Err(StoreError::Timeout { .. } | StoreError::Unavailable(_)) => {
                return Ok(SendState::Later);
            }
            Err(_) => {
                return Err(CloseReason::Close(
                    close_code::ERROR,
                    "the messages cannot be read",
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

    /// Tells whether the store can be reached, where the reader does not know it yet.
    async fn send_stale_notice(&mut self, news: &RingStatus) -> Result<(), CloseReason> {
        if news.stale.is_some() == self.told_stale {
            return Ok(());
        }
        self.told_stale = news.stale.is_some();
        let note = match &news.stale {
            Some(reason) => ServerNotice::Stale { reason }.message(),
            None => ServerNotice::Fresh.message(),
        };
        self.send(vec![note]).await
    }

    /// Notes that there is something to send, and ends it where that has been so for too long.
    fn check_lag(&mut self) -> Result<(), CloseReason> {
        let since = *self.behind.get_or_insert_with(Instant::now);
        if self.live && since.elapsed() > self.shared.limits.behind {
            return Err(too_slow());
        }
        Ok(())
    }

    /// Writes messages; a reader that does not take them in time is too slow.
    async fn send(&mut self, messages: Vec<Message>) -> Result<(), CloseReason> {
        let socket = &mut self.socket;
        let writing = async {
            for message in messages {
                socket.feed(message).await?;
            }
            socket.flush().await
        };
        match tokio::time::timeout(self.shared.limits.behind, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(CloseReason::Gone),
            Err(_) => Err(too_slow()),
        }
    }

    async fn ping(&mut self) -> Result<(), CloseReason> {
        if self.heard.elapsed() > self.shared.limits.ping * 3 {
            return Err(CloseReason::Gone);
        }
        self.frames = 0;
        self.send(vec![Message::Ping(Bytes::new())]).await
    }

    /// Takes what the reader says, as far as it has said it.
    async fn read_client(
        &mut self,
        said: Option<Result<Message, axum::Error>>,
    ) -> Result<(), CloseReason> {
        let mut said = said;
        loop {
            let message = said
                .ok_or(CloseReason::Gone)?
                .map_err(|_| CloseReason::Gone)?;
            self.heard = Instant::now();
            self.frames += 1;
            if self.frames > self.shared.limits.frames {
                return Err(CloseReason::Close(close_code::POLICY, "too many messages"));
            }
            match message {
                Message::Text(text) => self.on_client_message(&text).await?,
                Message::Binary(_) => {
                    return Err(CloseReason::Close(
                        close_code::UNSUPPORTED,
                        "only text is understood",
                    ));
                }
                Message::Close(_) => return Err(CloseReason::Gone),
                Message::Ping(_) | Message::Pong(_) => {}
            }
            match self.socket.recv().now_or_never() {
                Some(next) => said = next,
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

fn message(shown: &EncodedEvent) -> Message {
    Message::Text(shown.text.clone())
}

fn too_slow() -> CloseReason {
    CloseReason::Close(
        close_code::AGAIN,
        "too slow: come back with the last number",
    )
}

/// Lets time pass.
async fn sleep_for(time: Duration) {
    match time {
        Duration::ZERO => {}
        Duration::MAX => std::future::pending().await,
        time => tokio::time::sleep(time).await,
    }
}
