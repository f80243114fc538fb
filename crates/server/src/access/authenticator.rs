//! Finds the caller for a token or a cookie.
//!
//! Valid tokens and sessions are read from the store as a whole and cached for a short time. A secret that is
//! not among them causes one more read, which all requests that wait for it share: guessing does not load the
//! store, and a new token works immediately.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use windlass_tasks::{AccessStore, AccessToken, BrowserSession, StoreResult};

use super::{Caller, Credential};
use crate::token::{Token, secret_hash};

/// How long a token or session is accepted without reading the store again.
const MAX_AGE: Duration = Duration::from_secs(1);
/// How often the token of an open WebSocket is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The valid tokens and sessions at one time.
#[derive(Debug)]
struct AccessSnapshot {
    /// When reading it began.
    started: Instant,
    tokens: HashMap<String, AccessToken>,
    sessions: HashMap<String, BrowserSession>,
}

/// Finds callers.
#[derive(Debug)]
pub(crate) struct Authenticator {
    server_token: Token,
    store: Arc<dyn AccessStore>,
    snapshot: Mutex<Option<AccessSnapshot>>,
}

impl Authenticator {
    pub(crate) fn new(server_token: Token, store: Arc<dyn AccessStore>) -> Self {
        Self {
            server_token,
            store,
            snapshot: Mutex::new(None),
        }
    }

    /// Returns the store, to change tokens and sessions.
    pub(crate) fn store(&self) -> &dyn AccessStore {
        &*self.store
    }

    /// Returns the caller with this token.
    pub(crate) async fn by_token(&self, given: &str) -> StoreResult<Option<Caller>> {
        match secret_hash(given) {
            Some(hash) if self.server_token.has_hash(&hash) => {
                Ok(Some(Caller::owner(Credential::ServerToken)))
            }
            Some(hash) => self.find(Credential::Token { hash }).await,
            None => Ok(None),
        }
    }

    /// Returns the caller with this cookie, which was sent for this host.
    pub(crate) async fn by_cookie(&self, given: &str, host: &str) -> StoreResult<Option<Caller>> {
        let host = host.to_ascii_lowercase();
        match secret_hash(given) {
            Some(hash) => self.find(Credential::Session { hash, host }).await,
            None => Ok(None),
        }
    }

    /// Returns when the credential of a caller is no longer valid.
    pub(crate) async fn ended(&self, caller: &Caller) {
        if caller.credential == Credential::ServerToken {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            // While the store cannot be read, it has no new events either.
            if let Ok(None) = self.find(caller.credential.clone()).await {
                return;
            }
        }
    }

    /// Makes the next request read the store.
    pub(crate) async fn forget(&self) {
        *self.snapshot.lock().await = None;
    }

    async fn find(&self, credential: Credential) -> StoreResult<Option<Caller>> {
        let arrived = Instant::now();
        let mut snapshot = self.snapshot.lock().await;
        if let Some(snapshot) = &*snapshot {
            let found = self.lookup(snapshot, &credential);
            let is_current = match &found {
                Some(_) => snapshot.started.elapsed() < MAX_AGE,
                None => snapshot.started >= arrived,
            };
            if is_current {
                return Ok(found);
            }
        }
        let started = Instant::now();
        let valid = self.store.credentials().await?;
        let sessions = valid.sessions.into_iter();
        let read = AccessSnapshot {
            started,
            tokens: valid.tokens.into_iter().collect(),
            sessions: sessions
                .map(|session| (session.hash.clone(), session))
                .collect(),
        };
        let found = self.lookup(&read, &credential);
        *snapshot = Some(read);
        Ok(found)
    }

    fn lookup(&self, snapshot: &AccessSnapshot, credential: &Credential) -> Option<Caller> {
        let token_hash = match credential {
            Credential::ServerToken => self.server_token.hash(),
            Credential::Token { hash } => hash,
            Credential::Session { hash, host } => {
                let session = snapshot.sessions.get(hash)?;
                if session.host != *host {
                    return None;
                }
                &session.token_hash
            }
        };
        if token_hash == self.server_token.hash() {
            return Some(Caller::owner(credential.clone()));
        }
        let token = snapshot.tokens.get(token_hash)?;
        Some(Caller::with_token(token, credential.clone()))
    }
}
