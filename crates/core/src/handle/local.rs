//! Backends that cannot leave their thread.

use std::fmt;
use std::pin::Pin;
use std::sync::mpsc as blocking;
use std::time::Duration;

use futures::future::{BoxFuture, LocalBoxFuture};
use futures::{Stream, StreamExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::unwind;
use crate::{
    AgentBackend, BackendEvent, Capabilities, Error, ErrorCode, EventStream, Prompt, Result,
    SessionId, SessionOptions,
};

/// The events of one turn of a backend that cannot leave its thread.
pub type LocalEventStream = Pin<Box<dyn Stream<Item = BackendEvent>>>;

/// [`AgentBackend`], for those who hold an `Rc` or live in a runtime of their own.
///
/// Method by method the same contract; only the futures may stay where they are.
pub trait LocalBackend {
    /// A short name for logs and messages.
    fn name(&self) -> &'static str;

    /// What the agent can do.
    fn capabilities(&self) -> Capabilities;

    /// Begins a conversation.
    fn new_session(&self, options: SessionOptions) -> LocalBoxFuture<'_, Result<SessionId>>;

    /// Takes up an earlier conversation.
    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> LocalBoxFuture<'a, Result<()>>;

    /// Begins a turn.
    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> LocalBoxFuture<'a, Result<LocalEventStream>>;

    /// Asks the agent to end the turn under way.
    fn cancel<'a>(&'a self, id: &'a SessionId) -> LocalBoxFuture<'a, Result<()>>;
}

/// How many calls may wait for the thread.
const CALL_QUEUE: usize = 64;
/// How many events may wait between the thread and the turn.
const LOCAL_EVENT_QUEUE: usize = 32;
/// How long a factory may take.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A thread with a backend on it, which to all others is a backend like any other.
pub(super) struct LocalBackendThread {
    name: &'static str,
    capabilities: Capabilities,
    calls: mpsc::Sender<Call>,
}

enum Call {
    NewSession(SessionOptions, Reply<SessionId>),
    LoadSession(SessionId, SessionOptions, Reply<()>),
    Prompt(SessionId, Prompt, Reply<EventStream>),
    Cancel(SessionId, Reply<()>),
}

type Reply<T> = oneshot::Sender<Result<T>>;

impl LocalBackendThread {
    pub(super) fn start<B, F>(factory: F) -> Result<Self>
    where
        B: LocalBackend + 'static,
        F: FnOnce() -> Result<B> + Send + 'static,
    {
        let (calls, queue) = mpsc::channel(CALL_QUEUE);
        let (started, start) = blocking::sync_channel(1);
        std::thread::Builder::new()
            .name("windlass-local".to_owned())
            .spawn(move || run_thread(factory, &started, queue))
            .map_err(|error| thread_gone(format!("no thread for a backend: {error}")))?;
        let (name, capabilities) = start.recv_timeout(START_TIMEOUT).map_err(|_| {
            thread_gone(format!(
                "a backend did not start within {} s",
                START_TIMEOUT.as_secs()
            ))
        })??;
        Ok(Self {
            name,
            capabilities,
            calls,
        })
    }

    async fn call<T>(&self, call: impl FnOnce(Reply<T>) -> Call) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let lost = || thread_gone(format!("the thread of {} has ended", self.name));
        self.calls.send(call(reply)).await.map_err(|_| lost())?;
        answer.await.map_err(|_| lost())?
    }
}

impl AgentBackend for LocalBackendThread {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(self.call(|reply| Call::NewSession(options, reply)))
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call(|reply| Call::LoadSession(id.clone(), options, reply)))
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(self.call(|reply| Call::Prompt(id.clone(), prompt, reply)))
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call(|reply| Call::Cancel(id.clone(), reply)))
    }
}

impl fmt::Debug for LocalBackendThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

type Started = Result<(&'static str, Capabilities)>;

/// The thread's whole life: build the backend, answer calls, end when nobody can call any more.
fn run_thread<B, F>(
    factory: F,
    started: &blocking::SyncSender<Started>,
    queue: mpsc::Receiver<Call>,
) where
    B: LocalBackend + 'static,
    F: FnOnce() -> Result<B>,
{
    let begin = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| thread_gone(format!("no runtime for a backend: {error}")))?;
        // The backend may need the runtime's context while it is built.
        let entered = runtime.enter();
        let backend = factory()?;
        drop(entered);
        Ok((runtime, backend))
    };
    let begun = unwind::catch(begin).unwrap_or_else(|panic| Err(panic.into_error("local")));
    let (runtime, backend) = match begun {
        Ok(parts) => parts,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let known = unwind::catch(|| (backend.name(), backend.capabilities()))
        .map_err(|panic| panic.into_error("local"));
    let _ = started.send(known);
    let tasks = tokio::task::LocalSet::new();
    runtime.block_on(tasks.run_until(serve(std::rc::Rc::new(backend), queue)));
    // Turns still under way keep their stream's other end: let them finish.
    runtime.block_on(tasks);
}

/// Every call is a task of its own, so that a cancel can overtake a prompt.
async fn serve<B: LocalBackend + 'static>(
    backend: std::rc::Rc<B>,
    mut queue: mpsc::Receiver<Call>,
) {
    while let Some(call) = queue.recv().await {
        let backend = std::rc::Rc::clone(&backend);
        tokio::task::spawn_local(async move {
            let name = backend.name();
            match call {
                Call::NewSession(options, reply) => {
                    answer(name, reply, async { backend.new_session(options).await }).await;
                }
                Call::LoadSession(id, options, reply) => {
                    answer(name, reply, async {
                        backend.load_session(&id, options).await
                    })
                    .await;
                }
                Call::Prompt(id, prompt, reply) => {
                    let begun = async {
                        backend
                            .prompt(&id, prompt)
                            .await
                            .map(|s| forward_events(s, name))
                    };
                    answer(name, reply, begun).await;
                }
                Call::Cancel(id, reply) => {
                    answer(name, reply, async { backend.cancel(&id).await }).await;
                }
            }
        });
    }
}

/// Does the work, unless the caller stops waiting for it.
async fn answer<T>(name: &str, mut reply: Reply<T>, work: impl Future<Output = Result<T>>) {
    let done = tokio::select! {
        done = unwind::catch_async(work) => done,
        () = reply.closed() => return,
    };
    let _ = reply.send(done.unwrap_or_else(|panic| Err(panic.into_error(name))));
}

/// Carries a stream's events off the thread; the stream is dropped here when the other end is.
fn forward_events(mut stream: LocalEventStream, name: &'static str) -> EventStream {
    let (sender, receiver) = mpsc::channel(LOCAL_EVENT_QUEUE);
    let dropped = CancellationToken::new();
    let guard = dropped.clone().drop_guard();
    tokio::task::spawn_local(async move {
        loop {
            let next = tokio::select! {
                next = unwind::catch_async(stream.next()) => next,
                () = dropped.cancelled() => break,
            };
            let emitted = match next {
                Ok(Some(emitted)) => emitted,
                Ok(None) => break,
                Err(panic) => BackendEvent::from(crate::AgentEvent::from(panic.into_error(name))),
            };
            let ended = emitted.event.is_terminal();
            if sender.send(emitted).await.is_err() || ended {
                break;
            }
        }
        let _ = unwind::catch(|| drop(stream));
    });
    Box::pin(futures::stream::unfold(
        (receiver, guard),
        |(mut receiver, guard)| async move {
            let emitted = receiver.recv().await?;
            Some((emitted, (receiver, guard)))
        },
    ))
}

fn thread_gone(message: String) -> Error {
    Error::agent(ErrorCode::BackendError, message)
}
