//! Tokens and sessions, on both databases.

use std::time::Duration;

use windlass_store::{OpenStore, StoreSettings, open_all};
use windlass_tasks::{
    AccessStore, BrowserSession, MAX_SESSIONS, NewAccessToken, NewProject, ProjectId, Scope,
    StoreError, TokenId,
};

use super::cluster::Cluster;

const HOUR: Duration = Duration::from_secs(3600);

fn run<F: Future>(test: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test)
}

fn token(name: &str) -> NewAccessToken {
    NewAccessToken {
        name: name.to_owned(),
        hash: format!("hash of {name}"),
        scopes: vec![Scope::Work, Scope::Read, Scope::Read],
        projects: None,
        expires_in: Some(HOUR),
    }
}

fn session(number: usize, token: &str) -> BrowserSession {
    BrowserSession {
        hash: format!("session {number}"),
        token_hash: format!("hash of {token}"),
        host: "127.0.0.1:7420".to_owned(),
    }
}

async fn names(access: &dyn AccessStore) -> Vec<String> {
    let valid = access.credentials().await.unwrap().tokens;
    valid
        .into_iter()
        .map(|(hash, token)| {
            assert_eq!(hash, format!("hash of {}", token.name));
            token.name
        })
        .collect()
}

/// Both stores are connections to the same data.
async fn check_tokens(store: OpenStore, other: OpenStore) {
    let project = NewProject {
        name: "shop".to_owned(),
        root: "/home/me/shop".into(),
    };
    let project = store.tasks.add_project(project).await.unwrap().id;
    let access = &store.access;
    let limited = NewAccessToken {
        projects: Some(vec![project]),
        ..token("limited")
    };
    let limited = access.add_token(limited).await.unwrap();
    assert_eq!(limited.scopes, [Scope::Read, Scope::Work]);
    assert_eq!(limited.projects, Some(vec![project]));
    assert!(limited.expires_at > Some(limited.created_at));
    let endless = NewAccessToken {
        expires_in: None,
        ..token("endless")
    };
    let endless = access.add_token(endless).await.unwrap();
    assert_eq!((endless.expires_at, &endless.projects), (None, &None));
    let expired = NewAccessToken {
        expires_in: Some(Duration::ZERO),
        ..token("expired")
    };
    access.add_token(expired).await.unwrap();
    assert_eq!(names(&*other.access).await, ["limited", "endless"]);

    let invalid = [
        NewAccessToken {
            scopes: Vec::new(),
            ..token("a")
        },
        NewAccessToken {
            projects: Some(Vec::new()),
            ..token("a")
        },
        token(""),
        token("a\u{1b}[31m"),
        token(&"a".repeat(1000)),
        token("limited"),
    ];
    for invalid in invalid {
        let refused = access.add_token(invalid.clone()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{invalid:?}");
    }
    let foreign = NewAccessToken {
        projects: Some(vec![ProjectId::from(99)]),
        ..token("a")
    };
    let missing = access.add_token(foreign).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }));

    let revoked = other.access.revoke_token(limited.id).await.unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(access.revoke_token(limited.id).await.unwrap(), revoked);
    assert_eq!(names(&**access).await, ["endless"]);
    let missing = access.revoke_token(TokenId::from(99)).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }));
    // The name is free again, and the list keeps all.
    let again = NewAccessToken {
        hash: "another hash".to_owned(),
        ..token("limited")
    };
    access.add_token(again).await.unwrap();
    assert_eq!(access.tokens().await.unwrap().len(), 4);
}

async fn check_sessions(store: OpenStore, other: OpenStore) {
    let access = &store.access;
    let sessions = async || {
        let sessions = other.access.credentials().await.unwrap().sessions;
        let mut hashes: Vec<String> = sessions.into_iter().map(|found| found.hash).collect();
        hashes.sort();
        hashes
    };
    let owner = access.add_token(token("me")).await.unwrap();
    for number in 1..4 {
        access
            .open_session(session(number, "me"), HOUR)
            .await
            .unwrap();
    }
    access
        .open_session(session(4, "server"), HOUR)
        .await
        .unwrap();
    access
        .open_session(session(5, "me"), Duration::ZERO)
        .await
        .unwrap();
    let open = ["session 1", "session 2", "session 3", "session 4"];
    assert_eq!(sessions().await, open);
    access.close_session("session 2".to_owned()).await.unwrap();
    access.close_session("session 2".to_owned()).await.unwrap();
    assert_eq!(sessions().await, ["session 1", "session 3", "session 4"]);
    // The sessions of a token end with it.
    access.revoke_token(owner.id).await.unwrap();
    assert_eq!(sessions().await, ["session 4"]);
    for number in 10..20 + MAX_SESSIONS {
        access
            .open_session(session(number, "server"), HOUR)
            .await
            .unwrap();
    }
    assert_eq!(sessions().await.len(), MAX_SESSIONS);
}

async fn open_twice(url: &str) -> (OpenStore, OpenStore) {
    // A thousand sessions are a thousand durable writes, and the disk of a test machine may stall.
    let mut settings = StoreSettings::default();
    settings.commit_timeout = Duration::from_secs(60);
    let open = async || open_all(url, settings.clone()).await.unwrap();
    (open().await, open().await)
}

mod sqlite {
    use super::*;

    async fn stores(dir: &tempfile::TempDir) -> (OpenStore, OpenStore) {
        open_twice(&format!("sqlite:{}/windlass.db", dir.path().display())).await
    }

    #[test]
    fn p22_tokens_expire_and_are_revoked() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let (store, other) = stores(&dir).await;
            check_tokens(store, other).await;
        });
    }

    #[test]
    fn p22_sessions_end_with_their_token() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let (store, other) = stores(&dir).await;
            check_sessions(store, other).await;
        });
    }
}

mod real_postgres {
    use super::*;

    async fn stores(cluster: &Cluster) -> (OpenStore, OpenStore) {
        open_twice(&cluster.url(&cluster.database().await)).await
    }

    #[test]
    fn p22_tokens_expire_and_are_revoked() {
        run(async {
            // The server stops when it is dropped.
            let cluster = Cluster::shared();
            let (store, other) = stores(&cluster).await;
            check_tokens(store, other).await;
        });
    }

    #[test]
    fn p22_sessions_end_with_their_token() {
        run(async {
            // The server stops when it is dropped.
            let cluster = Cluster::shared();
            let (store, other) = stores(&cluster).await;
            check_sessions(store, other).await;
        });
    }
}
