//! `build_context` of the worker's contract.

use std::path::Path;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_index::{CodebaseContext, HistorySource, NewHistory, PastCommit};
use windlass_tasks::{ContextSource, Issue, Task};

use super::Harness;

/// A history of one commit, returned each time.
#[derive(Debug)]
struct OneCommit;

impl HistorySource for OneCommit {
    fn history<'a>(
        &'a self,
        _root: &'a Path,
        known: Option<&'a str>,
        _commits: usize,
    ) -> BoxFuture<'a, Option<NewHistory>> {
        let known = known.map(str::to_owned);
        async move {
            let commit = PastCommit {
                message: "Fix the flicker".to_owned(),
                files: vec!["src/paint.rs".to_owned()],
                renames: Vec::new(),
            };
            let new = known.as_deref() != Some("c1");
            Some(NewHistory {
                head: "c1".to_owned(),
                commits: new.then_some(commit).into_iter().collect(),
                since: known,
            })
        }
        .boxed()
    }
}

fn task() -> Task {
    let json = serde_json::json!({
        "id": 1, "project_id": 1, "issue_id": 7, "title": "Renew the lease", "description": "by heartbeats",
        "status": "pending", "priority": 2, "workflow_step": 1, "dependencies": [], "kind": "backend", "agent": null,
        "idempotency_key": null, "attempt": 0, "max_attempts": 3, "output": null, "unverified": false, "branch": null,
        "usage": { "input_tokens": 0, "output_tokens": 0 }, "created_at": 0, "updated_at": 0, "completed_at": null,
    });
    serde_json::from_value(json).unwrap()
}

fn issue() -> Issue {
    let json = serde_json::json!({
        "id": 7, "project_id": 1, "title": "Lines are painted twice", "description": "", "created_at": 0,
    });
    serde_json::from_value(json).unwrap()
}

#[tokio::test]
async fn context_contains_task_issue_and_relevant_code() {
    let (harness, task, issue) = (Harness::small(), task(), issue());
    let codebase = CodebaseContext::new(harness.cache_dir());
    let context = codebase
        .build_context(&harness.project(), &task, None)
        .await;
    let context = context.unwrap();
    assert_eq!(context.related_files[0].path, "src/lease.rs");
    assert_eq!(context.related_symbols[0].name, "renew_lease");
    assert_eq!((&context.task, &context.issue_context), (&task, &None));

    let context = codebase
        .build_context(&harness.project(), &task, Some(&issue))
        .await;
    let context = context.unwrap();
    let paths: Vec<&str> = context
        .related_files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert!(paths.contains(&"src/paint.rs"), "{paths:?}");
    assert_eq!(context.issue_context, Some(issue));
}

#[tokio::test]
async fn history_is_added_once_and_cached() {
    let harness = Harness::small();
    let codebase = CodebaseContext::new(harness.cache_dir()).with_history(OneCommit);
    for _ in 0..3 {
        let index = codebase.open(&harness.project()).await.unwrap();
        assert_eq!(index.commit_count(), 1);
        assert_eq!(index.related("flicker").files[0].path, "src/paint.rs");
    }
    let index = CodebaseContext::without_cache()
        .open(&harness.project())
        .await
        .unwrap();
    assert_eq!(index.commit_count(), 0);
}

#[tokio::test]
async fn missing_dir_is_rejected() {
    let harness = Harness::new();
    let codebase = CodebaseContext::new(harness.cache_dir());
    let context = codebase
        .build_context(Path::new("/missing"), &task(), None)
        .await;
    let error = context.unwrap_err().to_string();
    assert!(error.starts_with("/missing: No such file"), "{error}");
}
