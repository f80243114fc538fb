//! Backends that are not `Send` and run on their own thread.

use std::fmt;
use std::pin::Pin;
use std::sync::mpsc as std_mpsc;
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

/// The events of one turn of a [`LocalBackend`].
pub type LocalEventStream = Pin<Box<dyn Stream<Item = BackendEvent>>>;

/// [`AgentBackend`] for types that are not `Send`, e.g. because they hold an `Rc` or need their own runtime.
///
/// Each method has the same contract, but the futures need not be `Send`.
pub trait LocalBackend {
    /// Returns a short name for logs and messages.
    fn name(&self) -> &'static str;

    /// Returns what the agent supports.
    fn capabilities(&self) -> Capabilities;

    /// Starts a session.
    fn new_session(&self, options: SessionOptions) -> LocalBoxFuture<'_, Result<SessionId>>;

    /// Resumes an earlier session. By default the backend cannot.
    fn load_session<'a>(
        &'a self,
        _id: &'a SessionId,
        _options: SessionOptions,
    ) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::unsupported(self.name(), "resume a session")) })
    }

    /// Starts a turn.
    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> LocalBoxFuture<'a, Result<LocalEventStream>>;

    /// Asks the agent to stop the running turn. By default the backend cannot, and the handle drops the stream.
    fn cancel<'a>(&'a self, _id: &'a SessionId) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::unsupported(self.name(), "stop a turn")) })
    }
}

/// The maximum number of calls queued for the thread.
const CALL_QUEUE: usize = 64;
/// The maximum number of events queued between the thread and the turn.
const LOCAL_EVENT_QUEUE: usize = 32;
/// How long a factory may take.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A thread that runs a [`LocalBackend`] and makes it available as an [`AgentBackend`].
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
        let (started, start) = std_mpsc::sync_channel(1);
        std::thread::Builder::new()
            .name("windlass-local".to_owned())
            .spawn(move || run_thread(factory, &started, queue))
            .map_err(|error| {
                thread_gone(format!("cannot start a thread for the backend: {error}"))
            })?;
        let (name, capabilities) = start.recv_timeout(START_TIMEOUT).map_err(|_| {
            thread_gone(format!(
                "the backend did not start within {} s",
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
        let (reply, response) = oneshot::channel();
        let gone = || thread_gone(format!("the thread of {} has ended", self.name));
        self.calls.send(call(reply)).await.map_err(|_| gone())?;
        response.await.map_err(|_| gone())?
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
        f.debug_struct("LocalBackendThread")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

type Started = Result<(&'static str, Capabilities)>;

/// The main function of the thread: builds the backend, serves calls, and ends when all senders are gone.
fn run_thread<B, F>(
    factory: F,
    started: &std_mpsc::SyncSender<Started>,
    queue: mpsc::Receiver<Call>,
) where
    B: LocalBackend + 'static,
    F: FnOnce() -> Result<B>,
{
    let build = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| {
                thread_gone(format!("cannot start a runtime for the backend: {error}"))
            })?;
        // The backend may need the context of the runtime while it is built.
        let entered = runtime.enter();
        let backend = factory()?;
        drop(entered);
        Ok((runtime, backend))
    };
    let built = unwind::catch(build).unwrap_or_else(|panic| Err(panic.into_error("local")));
    let (runtime, backend) = match built {
        Ok(parts) => parts,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    let description = unwind::catch(|| (backend.name(), backend.capabilities()))
        .map_err(|panic| panic.into_error("local"));
    let _ = started.send(description);
    let tasks = tokio::task::LocalSet::new();
    runtime.block_on(tasks.run_until(serve(std::rc::Rc::new(backend), queue)));
    // Running turns still hold the other end of their stream: let them finish.
    runtime.block_on(tasks);
}

/// Runs every call as a separate task, so that a cancel can overtake a prompt.
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
                    reply_with(name, reply, async { backend.new_session(options).await }).await;
                }
                Call::LoadSession(id, options, reply) => {
                    reply_with(name, reply, async {
                        backend.load_session(&id, options).await
                    })
                    .await;
                }
                Call::Prompt(id, prompt, reply) => {
                    let started = async {
                        backend
                            .prompt(&id, prompt)
                            .await
                            .map(|s| forward_events(s, name))
                    };
                    reply_with(name, reply, started).await;
                }
                Call::Cancel(id, reply) => {
                    reply_with(name, reply, async { backend.cancel(&id).await }).await;
                }
            }
        });
    }
}

/// Runs the work and sends its result, unless the caller stops waiting for it.
async fn reply_with<T>(name: &str, mut reply: Reply<T>, work: impl Future<Output = Result<T>>) {
    let result = tokio::select! {
        result = unwind::catch_async(work) => result,
        () = reply.closed() => return,
    };
    let _ = reply.send(result.unwrap_or_else(|panic| Err(panic.into_error(name))));
}

/// Forwards the events of a stream to another thread. The stream is dropped when the returned one is.
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
            let event = match next {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(panic) => BackendEvent::from(crate::AgentEvent::from(panic.into_error(name))),
            };
            let ended = event.event.is_terminal();
            if sender.send(event).await.is_err() || ended {
                break;
            }
        }
        let _ = unwind::catch(|| drop(stream));
    });
    Box::pin(futures::stream::unfold(
        (receiver, guard),
        |(mut receiver, guard)| async move {
            let event = receiver.recv().await?;
            Some((event, (receiver, guard)))
        },
    ))
}

fn thread_gone(message: String) -> Error {
    Error::agent(ErrorCode::BackendError, message)
}
