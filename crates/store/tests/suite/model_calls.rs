//! Model calls and spending limits, on both databases.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::Timestamp;
use windlass_store::{OpenStore, StoreSettings, open_all};
use windlass_tasks::{
    AttemptRef, CallAdmission, CallLabels, CallStatus, CallTokens, MAX_ACCOUNT_LIMIT,
    MAX_LIMIT_REASON_BYTES, ModelCallEnd, ModelCallId, ModelCalls, NewAccountLimit, NewModelCall,
    ProjectId, SpendLimit, SpendScope, TaskId, UsageKey, UsageQuery, UsageTotal,
};

use super::cluster::Cluster;

/// The parallel calls, and how many of them the limit allows.
const CALLS: usize = 32;
const ALLOWED: i64 = 10;
/// What each call reserves.
const RESERVED: i64 = 1_000;

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

fn call(agent: &str, reserved: Option<i64>) -> NewModelCall {
    NewModelCall {
        labels: CallLabels {
            project: Some(ProjectId::from(1)),
            task: Some(TaskId::from(7)),
            attempt: Some(2),
            agent: agent.to_owned(),
            account: "api.example".to_owned(),
            person: Some("ada".to_owned()),
        },
        api: "chat".to_owned(),
        model: Some("m-1".to_owned()),
        reserved_nanos: reserved,
    }
}

fn end(cost: Option<i64>) -> ModelCallEnd {
    ModelCallEnd {
        status: CallStatus::Done,
        http_status: Some(200),
        model: Some("m-1-20260101".to_owned()),
        tokens: Some(CallTokens {
            input: 100,
            cache_read: 40,
            cache_write: 10,
            output: 20,
            reasoning: 5,
        }),
        cost_nanos: cost,
        duration: Duration::from_millis(1_500),
    }
}

fn limit(scope: SpendScope, nanos: i64) -> Vec<SpendLimit> {
    vec![SpendLimit { scope, nanos }]
}

async fn begin(
    calls: &dyn ModelCalls,
    call: NewModelCall,
    limits: Vec<SpendLimit>,
) -> Option<ModelCallId> {
    match calls.begin_call(call, limits).await.unwrap() {
        CallAdmission::Admitted { id, .. } => Some(id),
        CallAdmission::Refused { .. } => None,
    }
}

async fn totals(calls: &dyn ModelCalls, by: UsageKey) -> Vec<UsageTotal> {
    let query = UsageQuery::all(by);
    calls.usage_totals(query).await.unwrap()
}

async fn check_totals(store: OpenStore, other: OpenStore) {
    let calls = store.calls.as_ref();
    let first = begin(calls, call("codex", None), Vec::new()).await.unwrap();
    calls.end_call(first, end(Some(2_000))).await.unwrap();
    let second = begin(calls, call("codex", None), Vec::new()).await.unwrap();
    let failed = ModelCallEnd {
        status: CallStatus::Failed,
        tokens: None,
        model: None,
        ..end(None)
    };
    calls.end_call(second, failed).await.unwrap();
    begin(calls, call("claude", None), Vec::new())
        .await
        .unwrap();

    let by_agent = totals(other.calls.as_ref(), UsageKey::Agent).await;
    assert_eq!(by_agent.len(), 2);
    assert_eq!(
        by_agent[0],
        UsageTotal {
            key: Some("codex".to_owned()),
            calls: 2,
            tokens: end(None).tokens.unwrap(),
            unknown_tokens: 1,
            cost_nanos: 2_000,
            unknown_cost: 1,
            not_done: 1,
            duration: Duration::from_secs(3),
        }
    );
    assert_eq!(by_agent[1].key.as_deref(), Some("claude"));
    assert_eq!((by_agent[1].unknown_cost, by_agent[1].not_done), (1, 1));
    let keys = async |by: UsageKey| -> Vec<Option<String>> {
        let rows = totals(calls, by).await;
        rows.into_iter().map(|row| row.key).collect()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        keys(UsageKey::Model).await,
        [text("m-1-20260101"), text("m-1")]
    );
    assert_eq!(keys(UsageKey::Task).await, [text("7")]);
    assert_eq!(keys(UsageKey::Project).await, [text("1")]);
    assert_eq!(keys(UsageKey::Person).await, [text("ada")]);
    assert_eq!(keys(UsageKey::Account).await, [text("api.example")]);
    assert_eq!(keys(UsageKey::Day).await.len(), 1);
    let future = UsageQuery {
        since: Some(Timestamp(u64::MAX / 4)),
        ..UsageQuery::all(UsageKey::Model)
    };
    assert!(calls.usage_totals(future).await.unwrap().is_empty());
    for (project, rows) in [(1, 2), (2, 0)] {
        let of_project = UsageQuery {
            project: Some(ProjectId::from(project)),
            ..UsageQuery::all(UsageKey::Model)
        };
        assert_eq!(calls.usage_totals(of_project).await.unwrap().len(), rows);
    }
}

/// Parallel calls of two processes never reserve more than the limit, and an open call counts with what it reserved.
async fn check_parallel_calls(store: OpenStore, other: OpenStore) {
    let limits = limit(SpendScope::Task, ALLOWED * RESERVED);
    let started = (0..CALLS).map(|number| {
        let calls = if number % 2 == 0 { &store } else { &other };
        let (calls, limits) = (Arc::clone(&calls.calls), limits.clone());
        tokio::spawn(
            async move { begin(calls.as_ref(), call("codex", Some(RESERVED)), limits).await },
        )
    });
    let mut admitted = Vec::new();
    for call in started.collect::<Vec<_>>() {
        admitted.extend(call.await.unwrap());
    }
    assert_eq!(admitted.len(), usize::try_from(ALLOWED).unwrap());
    // A settled call releases the rest of what it reserved; one without an end does not.
    let calls = store.calls.as_ref();
    let next = async || begin(calls, call("codex", Some(RESERVED)), limits.clone()).await;
    assert_eq!(next().await, None);
    calls.end_call(admitted[0], end(None)).await.unwrap();
    assert_eq!(
        next().await,
        None,
        "the reserved cost counts if the cost is unknown"
    );
    calls.end_call(admitted[1], end(Some(0))).await.unwrap();
    assert!(next().await.is_some());
    assert_eq!(next().await, None);
}

async fn check_scopes(store: OpenStore, _: OpenStore) {
    let calls = store.calls.as_ref();
    let refused = async |call: NewModelCall, limits: Vec<SpendLimit>| {
        begin(calls, call, limits).await.is_none()
    };
    for scope in SpendScope::ALL {
        let large = call("codex", Some(RESERVED));
        assert!(
            refused(large, limit(scope, RESERVED - 1)).await,
            "{scope:?}"
        );
        let unknown = call("codex", None);
        assert!(refused(unknown, limit(scope, i64::MAX)).await, "{scope:?}");
    }
    // Refused calls cost nothing.
    assert!(totals(calls, UsageKey::Agent).await.is_empty());
    let one = limit(SpendScope::Agent, RESERVED);
    assert!(!refused(call("codex", Some(RESERVED)), one.clone()).await);
    assert!(refused(call("codex", Some(1)), one.clone()).await);
    assert!(!refused(call("claude", Some(RESERVED)), one).await);
    let mut later = call("other", Some(1));
    later.labels.attempt = Some(3);
    let attempt = limit(SpendScope::Attempt, RESERVED);
    assert!(!refused(later, attempt).await);
    let without_task = NewModelCall {
        labels: CallLabels::default(),
        ..call("codex", Some(RESERVED))
    };
    assert!(!refused(without_task, limit(SpendScope::Task, 1)).await);
    // 80 % of the limit are reserved with this call, not with the next.
    let day = limit(SpendScope::Day, 10_000_000);
    let notices = async |reserved: i64| match calls
        .begin_call(call("codex", Some(reserved)), day.clone())
        .await
        .unwrap()
    {
        CallAdmission::Admitted { notices, .. } => notices,
        CallAdmission::Refused { .. } => unreachable!("the limit allows it"),
    };
    assert_eq!(notices(8_000_000).await, [SpendScope::Day]);
    assert_eq!(notices(1).await, []);
}

/// The limit of an account is known to every process, for the agents and attempts that met it, until it ends.
async fn check_account_limits(store: OpenStore, other: OpenStore) {
    let (calls, other) = (store.calls.as_ref(), other.calls.as_ref());
    let attempt = |number| AttemptRef {
        task: TaskId::from(7),
        number,
    };
    let limit = async |account: &str, agent: &str, wait: Duration| {
        let limit = NewAccountLimit {
            account: account.to_owned(),
            agent: agent.to_owned(),
            wait,
            reason: "x".repeat(2 * MAX_LIMIT_REASON_BYTES),
        };
        calls.limit_account(limit).await.unwrap();
    };
    let of_agent = async |agent: &str| other.agent_limit(agent.to_owned()).await.unwrap();
    let hour = Duration::from_secs(3600);
    begin(calls, call("codex", None), Vec::new()).await;
    assert_eq!(other.attempt_limit(attempt(2)).await.unwrap(), None);
    limit("api.example", "codex", hour).await;
    limit("other.example", "claude", 2 * hour).await;

    let found = other.attempt_limit(attempt(2)).await.unwrap().unwrap();
    assert_eq!(found.account, "api.example");
    assert!(found.remaining > hour - Duration::from_secs(60) && found.remaining <= hour);
    assert!(found.reason.len() < 2 * MAX_LIMIT_REASON_BYTES);
    assert_eq!(of_agent("codex").await.unwrap().until, found.until);
    assert_eq!(of_agent("unknown").await, None);
    assert_eq!(other.attempt_limit(attempt(3)).await.unwrap(), None);
    let accounts = async || -> Vec<String> {
        let limits = other.account_limits().await.unwrap();
        limits.into_iter().map(|one| one.account).collect()
    };
    assert_eq!(accounts().await, ["other.example", "api.example"]);

    // The newest answer counts, an impossible wait is cut, and one that has ended is forgotten.
    limit("api.example", "codex", Duration::MAX).await;
    let longest = of_agent("codex").await.unwrap().remaining;
    assert!(longest <= MAX_ACCOUNT_LIMIT, "{longest:?}");
    limit("api.example", "codex", Duration::ZERO).await;
    assert_eq!(of_agent("codex").await, None);
    assert_eq!(accounts().await, ["other.example"]);
    let clear = async || calls.clear_account_limit("other.example".to_owned()).await;
    assert!(clear().await.unwrap());
    assert!(!clear().await.unwrap());
    assert!(accounts().await.is_empty());
}

async fn open_twice(url: &str) -> (OpenStore, OpenStore) {
    let open = async || open_all(url, StoreSettings::default()).await.unwrap();
    (open().await, open().await)
}

mod sqlite {
    use super::*;

    async fn stores(dir: &tempfile::TempDir) -> (OpenStore, OpenStore) {
        open_twice(&format!("sqlite:{}/windlass.db", dir.path().display())).await
    }

    #[test]
    fn model_calls_are_summed() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let (store, other) = stores(&dir).await;
            check_totals(store, other).await;
        });
    }

    #[test]
    fn parallel_calls_stay_below_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let (store, other) = stores(&dir).await;
            check_parallel_calls(store, other).await;
        });
    }

    #[test]
    fn limits_of_accounts_are_shared() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let (store, other) = stores(&dir).await;
            check_account_limits(store, other).await;
        });
    }

    #[test]
    fn limits_apply_to_their_scope() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let (store, other) = stores(&dir).await;
            check_scopes(store, other).await;
        });
    }
}

mod real_postgres {
    use super::*;

    async fn stores(cluster: &Cluster) -> (OpenStore, OpenStore) {
        open_twice(&cluster.url(&cluster.database().await)).await
    }

    #[test]
    fn limits_of_accounts_are_shared() {
        run(async {
            let cluster = Cluster::shared();
            let (store, other) = stores(&cluster).await;
            check_account_limits(store, other).await;
        });
    }

    #[test]
    fn model_calls_are_summed() {
        run(async {
            // The server stops when it is dropped.
            let cluster = Cluster::shared();
            let (store, other) = stores(&cluster).await;
            check_totals(store, other).await;
        });
    }

    #[test]
    fn parallel_calls_stay_below_the_limit() {
        run(async {
            let cluster = Cluster::shared();
            let (store, other) = stores(&cluster).await;
            check_parallel_calls(store, other).await;
        });
    }

    #[test]
    fn limits_apply_to_their_scope() {
        run(async {
            let cluster = Cluster::shared();
            let (store, other) = stores(&cluster).await;
            check_scopes(store, other).await;
        });
    }
}
