//! A backend that holds an `Rc` works behind a `Send` handle.

use std::cell::RefCell;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use windlass_core::{
    AgentEvent, AgentHandle, BackendEvent, Capabilities, Error, ErrorCode, LocalBackend,
    LocalEventStream, Prompt, Result, SessionId, SessionOptions,
};

#[derive(Default)]
struct Notebook {
    pages: Rc<RefCell<Vec<String>>>,
}

impl LocalBackend for Notebook {
    fn name(&self) -> &'static str {
        "notebook"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn new_session(&self, _: SessionOptions) -> LocalBoxFuture<'_, Result<SessionId>> {
        async { Ok("page".into()) }.boxed_local()
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        _: SessionOptions,
    ) -> LocalBoxFuture<'a, Result<()>> {
        let session = id.clone();
        async {
            Err(Error::SessionNotFound {
                backend: "notebook".into(),
                session,
            })
        }
        .boxed_local()
    }

    fn prompt<'a>(
        &'a self,
        _: &'a SessionId,
        prompt: Prompt,
    ) -> LocalBoxFuture<'a, Result<LocalEventStream>> {
        let pages = Rc::clone(&self.pages);
        async move {
            assert_ne!(prompt.text, "tear", "the page is torn");
            pages.borrow_mut().push(prompt.text);
            let lines = move || pages.borrow().join(",");
            let stream = futures::stream::once(async move {
                tokio::task::yield_now().await;
                BackendEvent::from(AgentEvent::result(lines()))
            });
            Ok(Box::pin(stream) as LocalEventStream)
        }
        .boxed_local()
    }

    fn cancel<'a>(&'a self, _: &'a SessionId) -> LocalBoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed_local()
    }
}

async fn last_event(handle: &AgentHandle, prompt: &str) -> AgentEvent {
    let turn = handle.prompt(&"page".into(), prompt).await.unwrap();
    turn.collect().await.pop().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_backend_keeps_its_state_on_its_thread() {
    let handle = AgentHandle::wrap_local(|| Ok(Notebook::default())).unwrap();
    assert_eq!(handle.name(), "notebook");
    assert_eq!(last_event(&handle, "a").await, AgentEvent::result("a"));
    let other_task = tokio::spawn(async move { last_event(&handle, "b").await });
    assert_eq!(other_task.await.unwrap(), AgentEvent::result("a,b"));
}

#[tokio::test]
async fn panic_in_one_turn_does_not_affect_the_next() {
    let handle = AgentHandle::wrap_local(|| Ok(Notebook::default())).unwrap();
    let AgentEvent::Error { message, .. } = last_event(&handle, "tear").await else {
        panic!("the panic was not reported");
    };
    assert!(message.contains("the page is torn"), "{message}");
    assert_eq!(last_event(&handle, "a").await, AgentEvent::result("a"));
}

#[test]
fn failing_or_panicking_factory_is_an_error() {
    let fail = || -> Result<Notebook> { Err(Error::agent(ErrorCode::AuthFailed, "no key")) };
    let error = AgentHandle::wrap_local(fail).unwrap_err();
    assert_eq!(error.code(), ErrorCode::AuthFailed);

    let panic = || -> Result<Notebook> { panic!("no paper") };
    let error = AgentHandle::wrap_local(panic).unwrap_err();
    assert!(error.to_string().contains("no paper"), "{error}");
}
