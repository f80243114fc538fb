//! Numbers for Prometheus, and the probes of load balancers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tokio::time::Instant;
use windlass_tasks::{Scope, StoreError};

use super::client::{Request, raw};
use super::full_run::run_full_task;
use super::harness::Harness;
use super::store::Fault;

/// Parses the text format, and returns each sample. Checks that every one has a type and that none is twice.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut types = BTreeSet::new();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            if let Some(typed) = comment.strip_prefix("TYPE ") {
                let (name, kind) = typed.split_once(' ').unwrap();
                assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
                assert!(types.insert(name.to_owned()), "{line}");
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .filter(|base| types.contains(*base));
        assert!(base.is_some() || types.contains(name), "{line}");
        let value = value.parse().unwrap();
        assert_eq!(found.insert(series.to_owned(), value), None, "{line}");
    }
    found
}

async fn metrics(harness: &Harness, token: &str) -> super::client::Response {
    let request = Request::new("GET", "/metrics")
        .header("Host", &harness.host())
        .header("Authorization", &format!("Bearer {token}"));
    raw(harness.addr(), &request.bytes()).await.unwrap()
}

#[tokio::test]
async fn metrics_count_tasks_attempts_requests_and_latencies() {
    let harness = Harness::new().await;
    run_full_task(&harness).await;
    harness.add("second").await;
    assert_eq!(harness.get("/tasks/999").await.status, 404);
    let response = metrics(&harness, harness.token()).await;
    assert_eq!(response.status, 200, "{response:?}");
    let kind = response.header("content-type").unwrap();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    let found = samples(&response.body);
    let value = |name: &str| {
        *found
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {found:#?}"))
    };
    assert_eq!(value("windlass_store_up"), 1.0);
    assert_eq!(value("windlass_tasks{status=\"pending\"}"), 1.0);
    assert_eq!(value("windlass_tasks{status=\"completed\"}"), 1.0);
    assert_eq!(value("windlass_attempts_total{result=\"completed\"}"), 1.0);
    assert_eq!(
        value("windlass_model_tokens_total{direction=\"input\"}"),
        10.0
    );
    assert!(value("windlass_events_total") > 1.0);
    assert!(value("windlass_responses_total{kind=\"api\",status=\"4xx\"}") >= 1.0);
    for histogram in [
        "windlass_store_seconds_count{operation=\"read\"}",
        "windlass_store_seconds_count{operation=\"write\"}",
        "windlass_request_seconds_count{kind=\"api\"}",
    ] {
        assert!(value(histogram) >= 1.0, "{histogram}");
    }
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        value(&format!("windlass_build_info{{version=\"{version}\"}}")),
        1.0
    );
}

#[tokio::test]
async fn p22_metrics_need_the_scope_read_and_all_projects() {
    let harness = Harness::new().await;
    for scope in Scope::ALL {
        let token = harness.create_token(scope.as_str(), &[scope], None).await;
        let expected = if scope == Scope::Read { 200 } else { 403 };
        assert_eq!(metrics(&harness, &token).await.status, expected, "{scope}");
    }
    let projects = Some(vec![harness.project.id]);
    let limited = harness
        .create_token("limited", &[Scope::Read], projects)
        .await;
    assert_eq!(metrics(&harness, &limited).await.status, 403);
    assert_eq!(metrics(&harness, "wrong").await.status, 401);
}

#[tokio::test]
async fn probes_need_no_token_and_follow_the_store() {
    let harness = Harness::new().await;
    let probe = async |path: &str, host: &str| {
        let request = Request::new("GET", path).header("Host", host);
        raw(harness.addr(), &request.bytes()).await.unwrap()
    };
    for path in ["/livez", "/readyz"] {
        let response = probe(path, "10.1.2.3").await;
        assert_eq!(
            (response.status, response.body.as_str()),
            (200, "ok\n"),
            "{path}"
        );
        assert!(response.header("content-security-policy").is_some());
    }
    let refused = Request::new("POST", "/readyz").header("Host", "10.1.2.3");
    assert_eq!(
        raw(harness.addr(), &refused.with("{}"))
            .await
            .unwrap()
            .status,
        403
    );
    assert_eq!(probe("/livez/x", "10.1.2.3").await.status, 403);
    let gone = StoreError::Unavailable("gone".to_owned());
    harness.store.fail(Some(Fault::Error(gone)));
    // The last answer of the store is valid for a second.
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    while probe("/readyz", &harness.host()).await.status != 503 {
        assert!(Instant::now() < deadline, "still ready");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(probe("/livez", &harness.host()).await.status, 200);
    assert_eq!(
        harness.post("/tasks", &json!({"title": "x"})).await.status,
        503
    );
}
