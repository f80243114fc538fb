//! A turn has one terminal event whatever the backend does, and no caller is blocked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use windlass_core::limits::EVENT_QUEUE;
use windlass_core::{
    AgentEvent, AgentHandle, Capabilities, Error, ErrorCode, SessionId, SessionOptions, Timestamp,
    TurnLimits,
};
use windlass_testkit::{FakeClock, MockAgent};

use super::hostile::{Hostile, Then};

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text(text.to_owned())
}

fn session() -> SessionId {
    "s".into()
}

/// Runs a turn with short limits, on a paused clock that advances when all tasks are idle.
async fn events_of(backend: Hostile) -> Vec<AgentEvent> {
    let limits = TurnLimits {
        deadline: Duration::from_secs(60),
        stall: Some(Duration::from_secs(20)),
        ..TurnLimits::default()
    };
    let handle = AgentHandle::wrap(backend).with_limits(limits);
    let turn = handle.prompt(&session(), "go").await.unwrap();
    turn.collect().await
}

#[track_caller]
fn assert_ends_with(events: &[AgentEvent], code: ErrorCode, part: &str) {
    let terminals = events.iter().filter(|event| event.is_terminal()).count();
    assert_eq!(terminals, 1, "{events:?}");
    match events.last() {
        Some(AgentEvent::Error {
            code: is, message, ..
        }) => {
            assert_eq!(*is, code, "{message}");
            assert!(
                message.contains(part),
                "{message:?} does not contain {part:?}"
            );
        }
        other => panic!("the last event is {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn p11_panicking_backend_gives_one_error() {
    let events = events_of(Hostile::new(vec![text("a")], Then::Panic)).await;
    assert_eq!(events[0], text("a"));
    assert_ends_with(&events, ErrorCode::BackendError, "panicked: in the middle");

    let events = events_of(Hostile::new(vec![], Then::PanicImmediately)).await;
    assert_ends_with(&events, ErrorCode::BackendError, "panicked: no turn");
}

#[tokio::test(start_paused = true)]
async fn p11_hanging_backend_gives_one_timeout() {
    let events = events_of(Hostile::new(vec![], Then::NeverStart)).await;
    assert_ends_with(
        &events,
        ErrorCode::Timeout,
        "the turn took longer than 60 s",
    );

    let events = events_of(Hostile::new(vec![text("a")], Then::Hang)).await;
    assert_ends_with(
        &events,
        ErrorCode::Timeout,
        "next event took longer than 20 s",
    );
}

#[tokio::test(start_paused = true)]
async fn p11_only_first_terminal_event_counts() {
    let twice = vec![
        AgentEvent::result("one"),
        text("late"),
        AgentEvent::result("two"),
    ];
    let events = events_of(Hostile::new(twice, Then::Hang)).await;
    assert_eq!(events, [AgentEvent::result("one")]);
}

#[tokio::test(start_paused = true)]
async fn p11_stream_without_terminal_event_gets_one() {
    let events = events_of(Hostile::new(vec![text("a")], Then::End)).await;
    assert_ends_with(&events, ErrorCode::BackendError, "without a terminal event");
}

#[tokio::test(start_paused = true)]
async fn p11_backend_that_does_not_close_does_not_block_its_caller() {
    for then in [Then::Panic, Then::Hang] {
        let handle = AgentHandle::wrap(Hostile::new(vec![], then));
        let closed = tokio::time::timeout(Duration::from_secs(3600), handle.close()).await;
        assert!(closed.is_ok(), "{then:?}: the handle does not close");
    }
}

#[tokio::test(start_paused = true)]
async fn p11_open_tool_is_closed_before_terminal_event() {
    let start = AgentEvent::ToolStart {
        id: "t".into(),
        name: "shell".into(),
        input: json!({"command": "sleep"}),
    };
    let events = events_of(Hostile::new(
        vec![start, AgentEvent::result("ok")],
        Then::End,
    ))
    .await;
    let [
        _,
        AgentEvent::ToolEnd { id, success, .. },
        AgentEvent::Result { .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((id.as_str(), *success), ("t", false));
}

#[tokio::test(start_paused = true)]
async fn p12_output_limit_ends_the_turn() {
    let limits = TurnLimits {
        turn_bytes: 10_000,
        ..TurnLimits::default()
    };
    let backend = Hostile::new(vec![text("more")], Then::Flood);
    let handle = AgentHandle::wrap(backend).with_limits(limits);
    let events = handle
        .prompt(&session(), "go")
        .await
        .unwrap()
        .collect()
        .await;
    assert_ends_with(&events, ErrorCode::OutputLimit, "exceeded the output limit");
    assert!(events.len() < 400);
}

#[tokio::test(start_paused = true)]
async fn p11_idle_reader_gets_every_number_and_the_terminal_event() {
    let handle =
        AgentHandle::wrap(Hostile::new(vec![text("x")], Then::Flood)).with_limits(TurnLimits {
            deadline: Duration::from_secs(5),
            ..TurnLimits::default()
        });
    let mut turn = handle.prompt(&session(), "go").await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let mut last = 0;
    let mut end = None;
    while let Some(envelope) = turn.recv_envelope().await {
        assert_eq!(envelope.seq, last + 1);
        last = envelope.seq;
        end = Some(envelope.event);
    }
    assert_ends_with(&[end.unwrap()], ErrorCode::Timeout, "5 s");
}

#[tokio::test(start_paused = true)]
async fn p12_backend_waits_for_an_idle_reader() {
    let backend = Hostile::new(vec![text("x")], Then::Flood);
    let seen = Arc::clone(&backend.seen);
    let handle = AgentHandle::wrap(backend);
    let turn = handle.prompt(&session(), "go").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    // One event more than the queue holds waits for room.
    assert_eq!(seen.events.load(Ordering::SeqCst), EVENT_QUEUE + 1);
    drop(turn);
}

#[tokio::test]
async fn flooding_turn_is_cancelled() {
    let handle = AgentHandle::wrap(Hostile::new(vec![text("x")], Then::Flood));
    let mut turn = handle.prompt(&session(), "go").await.unwrap();
    turn.recv().await.unwrap();
    handle.cancel(&session()).await.unwrap();
    let mut end = None;
    while let Some(event) = turn.recv().await {
        end = Some(event);
    }
    assert_ends_with(&[end.unwrap()], ErrorCode::Cancelled, "cancelled");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_receiver_stops_the_turn() {
    let backend = Hostile::new(vec![text("a")], Then::Hang);
    let seen = Arc::clone(&backend.seen);
    let handle = AgentHandle::wrap(backend);
    let mut turn = handle.prompt(&session(), "go").await.unwrap();
    turn.recv().await.unwrap();
    drop(turn);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(seen.cancels.load(Ordering::SeqCst), 1);
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 1);
    handle.prompt(&session(), "again").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn cancelled_turn_ends_even_if_backend_ignores_cancel() {
    let backend = Hostile::new(vec![text("a")], Then::Hang);
    let seen = Arc::clone(&backend.seen);
    let handle = AgentHandle::wrap(backend);
    let mut turn = handle.prompt(&session(), "go").await.unwrap();
    turn.recv().await.unwrap();
    handle.cancel(&session()).await.unwrap();
    assert_ends_with(&turn.collect().await, ErrorCode::Cancelled, "cancelled");
    assert_eq!(seen.cancels.load(Ordering::SeqCst), 1);
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn cooperative_backend_is_cancelled_immediately() {
    let mock = MockAgent::new().on_prompt("").hang_after(vec![text("a")]);
    let handle = AgentHandle::wrap(mock).with_limits(TurnLimits {
        grace: Duration::from_secs(3600),
        ..TurnLimits::default()
    });
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    let mut turn = handle.prompt(&session, "go").await.unwrap();
    turn.recv().await.unwrap();
    handle.cancel(&session).await.unwrap();
    assert_ends_with(&turn.collect().await, ErrorCode::Cancelled, "cancelled");
}

#[tokio::test]
async fn second_prompt_in_busy_session_is_rejected() {
    let handle = AgentHandle::wrap(Hostile::new(vec![], Then::Hang));
    let turn = handle.prompt(&session(), "go").await.unwrap();
    let error = handle.prompt(&session(), "again").await.unwrap_err();
    assert!(matches!(error, Error::SessionBusy { .. }), "{error}");
    handle.prompt(&"other".into(), "go").await.unwrap();
    drop(turn);
}

#[tokio::test(start_paused = true)]
async fn session_that_does_not_start_is_an_error() {
    let open = |then| async move {
        let handle = AgentHandle::wrap(Hostile::new(vec![], then));
        handle
            .new_session(SessionOptions::default())
            .await
            .unwrap_err()
    };
    assert_eq!(open(Then::NeverStart).await.code(), ErrorCode::Timeout);
    assert!(
        open(Then::PanicImmediately)
            .await
            .to_string()
            .contains("no session")
    );
}

#[tokio::test]
async fn panicking_capabilities_become_default() {
    let handle = AgentHandle::wrap(Hostile::new(vec![], Then::End));
    assert_eq!(handle.capabilities(), Capabilities::default());
}

#[tokio::test]
async fn invalid_prompts_are_rejected() {
    let handle = AgentHandle::wrap(MockAgent::new());
    let error = handle.prompt(&session(), "a\0b").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the prompt has a NUL character at byte 1: remove it"
    );
    let error = handle
        .prompt(&session(), "x".repeat(17 << 20))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("the limit is 16777216"),
        "{error}"
    );
}

#[tokio::test]
async fn unknown_session_ends_with_session_invalid() {
    let handle = AgentHandle::wrap(MockAgent::new());
    let events = handle
        .prompt(&session(), "hi")
        .await
        .unwrap()
        .collect()
        .await;
    assert!(
        matches!(&events[..], [AgentEvent::SessionInvalid { .. }]),
        "{events:?}"
    );
}

#[tokio::test]
async fn envelopes_have_numbers_and_clock_times() {
    let clock = Arc::new(FakeClock::at(Timestamp(1_700_000_000_000)));
    let handle = AgentHandle::wrap(MockAgent::new()).with_clock(clock);
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    let mut turn = handle.prompt(&session, "hi").await.unwrap();
    let first = turn.recv_envelope().await.unwrap();
    let second = turn.recv_envelope().await.unwrap();
    assert_eq!((first.seq, second.seq), (1, 2));
    assert_eq!(second.at, Timestamp(1_700_000_000_000));
    assert_eq!((&second.session, second.turn), (&session, first.turn));
    assert!(turn.recv_envelope().await.is_none());
    let again = handle.prompt(&session, "hi").await.unwrap();
    assert_eq!(again.turn().0, first.turn.0 + 1);
}

#[test]
fn p11_runtime_shutdown_still_gives_one_terminal_event() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let backend = Hostile::new(vec![text("a")], Then::Hang);
    let turn = runtime.block_on(async {
        let handle = AgentHandle::wrap(backend);
        let mut turn = handle.prompt(&session(), "go").await.unwrap();
        turn.recv().await.unwrap();
        turn
    });
    drop(runtime);
    let another = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let events = another.block_on(turn.collect());
    assert_ends_with(&events, ErrorCode::SessionOrphaned, "abandoned");
}

#[test]
fn handle_is_send_sync_clone() {
    fn assert_send_sync_clone<T: Send + Sync + Clone + 'static>() {}
    assert_send_sync_clone::<AgentHandle>();
}
