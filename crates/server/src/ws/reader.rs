//! One reader: told everything after its number, in order, without gap or double, for as long as it keeps up.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures::{FutureExt, SinkExt};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use windlass_core::task::StoreError;

use super::message::{Note, Told, Wanted};
use super::ring::{News, Shown, Taken};
use crate::shared::Shared;

/// How many messages are written before the reader is listened to again.
const BATCH: usize = 64;
/// How many old messages are read from the store at a time.
const PAGE: u32 = 32;
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// How soon a store in trouble is asked again for old messages.
const TROUBLE: Duration = Duration::from_millis(500);

/// Why a conversation ends.
#[derive(Debug)]
enum End {
    /// The reader is gone.
    Gone,
    /// It is told why.
    Close(u16, &'static str),
}

/// Whether there is more to be sent at once.
enum Flow {
    CaughtUp,
    More,
    /// The store must be asked again in a while.
    Later,
}

struct Reader {
    socket: WebSocket,
    shared: Shared,
    news: watch::Receiver<News>,
    wanted: Wanted,
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
pub(super) async fn attend(socket: WebSocket, shared: Shared, wanted: Wanted) {
    let news = shared.ring.subscribe();
    let mut reader = Reader {
        socket,
        news,
        wanted: Wanted::default(),
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
        () = async { stop.cancelled().await; pass(grace).await } => return,
    };
    if let Err(End::Close(code, reason)) = ended {
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        let _ = tokio::time::timeout(GOODBYE, reader.socket.send(close)).await;
    }
}

impl Reader {
    async fn serve(&mut self, wanted: Wanted) -> Result<(), End> {
        let stop = self.shared.stop.clone();
        let mut ping = interval(self.shared.limits.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ping.reset();
        self.subscribe(wanted).await?;
        loop {
            let flow = self.deliver().await?;
            let pause = match flow {
                Flow::CaughtUp => Duration::MAX,
                Flow::More => Duration::ZERO,
                Flow::Later => TROUBLE,
            };
            let waits = !pause.is_zero();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(End::Close(close_code::AWAY, "the server stops")),
                _ = ping.tick() => self.ping().await?,
                said = self.socket.recv() => self.hear(said).await?,
                changed = self.news.changed(), if waits => changed.map_err(|_| End::Gone)?,
                () = pass(pause) => {}
            }
        }
    }

    /// Begins a subscription.
    async fn subscribe(&mut self, wanted: Wanted) -> Result<(), End> {
        let mut last = self.shared.ring.last();
        if wanted.after.is_some_and(|after| after > last)
            && let Ok(now) = self.shared.store.changed(0, Duration::ZERO).await
        {
            // It heard more at another server, of which this one will hear in a moment.
            last = now.max(last);
        }
        self.at = wanted.after.unwrap_or(last);
        self.live = wanted.after.is_none();
        self.behind = None;
        self.wanted = wanted;
        self.send(vec![Note::Hello { last }.message()]).await
    }

    /// Sends what there is, up to a batch.
    async fn deliver(&mut self) -> Result<Flow, End> {
        let news = self.news.borrow_and_update().clone();
        self.tell_state(&news).await?;
        match self.shared.ring.after(self.at, &self.wanted, BATCH) {
            Taken::These(found, reached) => {
                if !found.is_empty() {
                    self.keep_up()?;
                    let messages = found.iter().map(|item| message(item)).collect();
                    self.send(messages).await?;
                }
                self.at = reached;
                if self.at < self.shared.ring.last() {
                    return Ok(Flow::More);
                }
                self.behind = None;
                self.live = true;
                Ok(Flow::CaughtUp)
            }
            Taken::Gone(first) if self.live => {
                self.keep_up()?;
                let (from, to) = (self.at + 1, first - 1);
                self.at = to;
                self.send(vec![Note::Lagged { from, to }.message()]).await?;
                Ok(Flow::More)
            }
            Taken::Gone(_) => self.fetch().await,
        }
    }

    /// Sends a page of what only the store still has.
    async fn fetch(&mut self) -> Result<Flow, End> {
        // Everything up to here is in the store, so a page that is not full reaches at least so far.
        let known = self.shared.ring.last();
        let page = {
            let _turn = self.shared.readers.acquire().await.map_err(|_| End::Gone)?;
            let filter = self.wanted.filter(self.at, PAGE);
            self.shared.store.events(filter).await
        };
        let page = match page {
            Ok(page) => page,
            Err(StoreError::Timeout { .. } | StoreError::Unavailable(_)) => return Ok(Flow::Later),
            Err(_) => return Err(End::Close(close_code::ERROR, "the messages cannot be read")),
        };
        let last = page.last().map_or(self.at, |event| event.seq);
        let is_full = page.len() >= PAGE as usize;
        let messages = page.iter().map(|event| message(&Shown::of(event)));
        self.send(messages.collect()).await?;
        self.at = if is_full { last } else { last.max(known) };
        Ok(Flow::More)
    }

    /// Tells whether the store can be reached, where the reader does not know it yet.
    async fn tell_state(&mut self, news: &News) -> Result<(), End> {
        if news.stale.is_some() == self.told_stale {
            return Ok(());
        }
        self.told_stale = news.stale.is_some();
        let note = match &news.stale {
            Some(reason) => Note::Stale { reason }.message(),
            None => Note::Fresh.message(),
        };
        self.send(vec![note]).await
    }

    /// Notes that there is something to send, and ends it where that has been so for too long.
    fn keep_up(&mut self) -> Result<(), End> {
        let since = *self.behind.get_or_insert_with(Instant::now);
        if self.live && since.elapsed() > self.shared.limits.behind {
            return Err(too_slow());
        }
        Ok(())
    }

    /// Writes messages; a reader that does not take them in time is too slow.
    async fn send(&mut self, messages: Vec<Message>) -> Result<(), End> {
        let socket = &mut self.socket;
        let writing = async {
            for message in messages {
                socket.feed(message).await?;
            }
            socket.flush().await
        };
        match tokio::time::timeout(self.shared.limits.behind, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => Err(too_slow()),
        }
    }

    async fn ping(&mut self) -> Result<(), End> {
        if self.heard.elapsed() > self.shared.limits.ping * 3 {
            return Err(End::Gone);
        }
        self.frames = 0;
        self.send(vec![Message::Ping(Bytes::new())]).await
    }

    /// Takes what the reader says, as far as it has said it.
    async fn hear(&mut self, said: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        let mut said = said;
        loop {
            let message = said.ok_or(End::Gone)?.map_err(|_| End::Gone)?;
            self.heard = Instant::now();
            self.frames += 1;
            if self.frames > self.shared.limits.frames {
                return Err(End::Close(close_code::POLICY, "too many messages"));
            }
            match message {
                Message::Text(text) => self.told(&text).await?,
                Message::Binary(_) => {
                    return Err(End::Close(
                        close_code::UNSUPPORTED,
                        "only text is understood",
                    ));
                }
                Message::Close(_) => return Err(End::Gone),
                Message::Ping(_) | Message::Pong(_) => {}
            }
            match self.socket.recv().now_or_never() {
                Some(next) => said = next,
                None => return Ok(()),
            }
        }
    }

    async fn told(&mut self, text: &str) -> Result<(), End> {
        match serde_json::from_str(text) {
            Ok(Told::Subscribe {
                project_id,
                task_id,
                after,
            }) => {
                self.subscribe(Wanted {
                    project: project_id,
                    task: task_id,
                    after,
                })
                .await
            }
            Err(error) => {
                let message = error.to_string();
                self.send(vec![Note::Error { message: &message }.message()])
                    .await
            }
        }
    }
}

fn message(shown: &Shown) -> Message {
    Message::Text(shown.text.clone())
}

fn too_slow() -> End {
    End::Close(
        close_code::AGAIN,
        "too slow: come back with the last number",
    )
}

/// Lets time pass.
async fn pass(time: Duration) {
    match time {
        Duration::ZERO => {}
        Duration::MAX => std::future::pending().await,
        time => tokio::time::sleep(time).await,
    }
}
