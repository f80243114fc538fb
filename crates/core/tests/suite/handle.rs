//! One terminal event, whatever the backend does; and nobody is harmed or kept waiting.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
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

/// Runs a turn with little time, on a clock that jumps ahead whenever all are asleep.
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
fn ends_with(events: &[AgentEvent], code: ErrorCode, part: &str) {
    let terminals = events.iter().filter(|event| event.is_terminal()).count();
    assert_eq!(terminals, 1, "{events:?}");
    match events.last() {
        Some(AgentEvent::Error {
            code: is, message, ..
        }) => {
            assert_eq!(*is, code, "{message}");
            assert!(message.contains(part), "{message:?} does not say {part:?}");
        }
        other => panic!("the last event is {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn p11_a_backend_that_panics_gives_one_error() {
    let events = events_of(Hostile::new(vec![text("a")], Then::Panic)).await;
    assert_eq!(events[0], text("a"));
    ends_with(&events, ErrorCode::BackendError, "panicked: in the middle");

    let events = events_of(Hostile::new(vec![], Then::PanicAtOnce)).await;
    ends_with(&events, ErrorCode::BackendError, "panicked: no turn");
}

#[tokio::test(start_paused = true)]
async fn p11_a_backend_that_never_answers_gives_one_timeout() {
    let events = events_of(Hostile::new(vec![], Then::NeverBegin)).await;
    ends_with(
        &events,
        ErrorCode::Timeout,
        "the turn took longer than 60 s",
    );

    let events = events_of(Hostile::new(vec![text("a")], Then::Hang)).await;
    ends_with(
        &events,
        ErrorCode::Timeout,
        "next event took longer than 20 s",
    );
}

#[tokio::test(start_paused = true)]
async fn p11_only_the_first_of_two_ends_counts() {
    let twice = vec![
        AgentEvent::result("one"),
        text("late"),
        AgentEvent::result("two"),
    ];
    let events = events_of(Hostile::new(twice, Then::Hang)).await;
    assert_eq!(events, [AgentEvent::result("one")]);
}

#[tokio::test(start_paused = true)]
async fn p11_a_stream_without_an_end_gets_one() {
    let events = events_of(Hostile::new(vec![text("a")], Then::End)).await;
    ends_with(&events, ErrorCode::BackendError, "without saying how");
}

#[tokio::test(start_paused = true)]
async fn p11_a_tool_left_open_is_closed_before_the_end() {
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
async fn p12_a_flood_ends_the_turn() {
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
    ends_with(
        &events,
        ErrorCode::OutputLimit,
        "more than one turn may hold",
    );
    assert!(events.len() < 400);
}

#[tokio::test(start_paused = true)]
async fn p11_a_reader_that_does_not_read_still_finds_every_number_and_the_end() {
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
    ends_with(&[end.unwrap()], ErrorCode::Timeout, "5 s");
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
async fn a_cancelled_turn_ends_as_cancelled_even_if_the_backend_is_deaf() {
    let backend = Hostile::new(vec![text("a")], Then::Hang);
    let seen = Arc::clone(&backend.seen);
    let handle = AgentHandle::wrap(backend);
    let mut turn = handle.prompt(&session(), "go").await.unwrap();
    turn.recv().await.unwrap();
    handle.cancel(&session()).await.unwrap();
    ends_with(&turn.collect().await, ErrorCode::Cancelled, "cancelled");
    assert_eq!(seen.cancels.load(Ordering::SeqCst), 1);
    assert_eq!(seen.dropped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_backend_that_listens_is_cancelled_at_once() {
    let mock = MockAgent::new().on_prompt("").hang_after(vec![text("a")]);
    let handle = AgentHandle::wrap(mock).with_limits(TurnLimits {
        grace: Duration::from_secs(3600),
        ..TurnLimits::default()
    });
    let session = handle.new_session(SessionOptions::default()).await.unwrap();
    let mut turn = handle.prompt(&session, "go").await.unwrap();
    turn.recv().await.unwrap();
    handle.cancel(&session).await.unwrap();
    ends_with(&turn.collect().await, ErrorCode::Cancelled, "cancelled");
}

#[tokio::test]
async fn one_prompt_at_a_time_in_a_session() {
    let handle = AgentHandle::wrap(Hostile::new(vec![], Then::Hang));
    let turn = handle.prompt(&session(), "go").await.unwrap();
    let error = handle.prompt(&session(), "again").await.unwrap_err();
    assert!(matches!(error, Error::SessionBusy { .. }), "{error}");
    handle.prompt(&"other".into(), "go").await.unwrap();
    drop(turn);
}

#[tokio::test(start_paused = true)]
async fn sessions_that_do_not_begin_are_errors() {
    let open = |then| async move {
        let handle = AgentHandle::wrap(Hostile::new(vec![], then));
        handle
            .new_session(SessionOptions::default())
            .await
            .unwrap_err()
    };
    assert_eq!(open(Then::NeverBegin).await.code(), ErrorCode::Timeout);
    assert!(
        open(Then::PanicAtOnce)
            .await
            .to_string()
            .contains("no session")
    );
}

#[tokio::test]
async fn capabilities_that_panic_are_none() {
    let handle = AgentHandle::wrap(Hostile::new(vec![], Then::End));
    assert_eq!(handle.capabilities(), Capabilities::default());
}

#[tokio::test]
async fn prompts_that_no_agent_could_take_are_refused() {
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
async fn an_unknown_session_is_an_invalid_one() {
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
async fn envelopes_are_numbered_and_dated_by_the_clock() {
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
fn p11_a_runtime_that_goes_away_still_leaves_one_end() {
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
    ends_with(&events, ErrorCode::SessionOrphaned, "abandoned");
}

#[test]
fn a_handle_can_go_anywhere() {
    fn anywhere<T: Send + Sync + Clone + 'static>() {}
    anywhere::<AgentHandle>();
}
