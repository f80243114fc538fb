//! The [`AccessStore`] implementation. Writes are durable, except those to the audit log: a revoked token stays revoked after
//! power loss.

use std::sync::Arc;
use std::time::Duration;

use windlass_tasks::{
    AccessStore, AccessToken, AuditEntry, AuditFilter, BrowserSession, Credentials, NewAccessToken,
    NewAuditEntry, StoreFuture, StoreTotals, TokenId,
};

use crate::ops::{access, audit, totals};
use crate::store::{Durability, SqlStore, WriteOptions};
use crate::write_job::{StageLabels, stages};

fn durable(stages: StageLabels) -> WriteOptions {
    WriteOptions {
        stages,
        durability: Durability::Durable,
    }
}

impl AccessStore for SqlStore {
    fn add_token(&self, token: NewAccessToken) -> StoreFuture<'_, AccessToken> {
        if let Err(error) = access::check(&token) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let token = Arc::new(token);
        self.write(durable(stages!("adding a token")), move |db| {
            let token = Arc::clone(&token);
            Box::pin(async move { access::add_token(db, &token).await })
        })
    }

    fn tokens(&self) -> StoreFuture<'_, Vec<AccessToken>> {
        self.read("listing tokens", |db| Box::pin(access::tokens(db)))
    }

    fn revoke_token(&self, id: TokenId) -> StoreFuture<'_, AccessToken> {
        self.write(durable(stages!("revoking a token")), move |db| {
            Box::pin(access::revoke_token(db, id))
        })
    }

    fn open_session(&self, session: BrowserSession, expires_in: Duration) -> StoreFuture<'_, ()> {
        let session = Arc::new(session);
        self.write(durable(stages!("opening a session")), move |db| {
            let session = Arc::clone(&session);
            Box::pin(async move { access::open_session(db, &session, expires_in).await })
        })
    }

    fn close_session(&self, hash: String) -> StoreFuture<'_, ()> {
        let hash = Arc::new(hash);
        self.write(durable(stages!("closing a session")), move |db| {
            let hash = Arc::clone(&hash);
            Box::pin(async move { access::close_session(db, &hash).await })
        })
    }

    fn credentials(&self) -> StoreFuture<'_, Credentials> {
        self.read("reading tokens", |db| Box::pin(access::credentials(db)))
    }

    fn append_audit(&self, entry: NewAuditEntry) -> StoreFuture<'_, ()> {
        let entry = Arc::new(entry);
        let options = WriteOptions {
            stages: stages!("writing the audit log"),
            durability: Durability::Relaxed,
        };
        self.write(options, move |db| {
            let entry = Arc::clone(&entry);
            Box::pin(async move { audit::append(db, &entry).await })
        })
    }

    fn totals(&self) -> StoreFuture<'_, StoreTotals> {
        let (reads, writes) = (self.reads.counts(), self.writes.counts());
        let read = self.read("counting records", |db| Box::pin(totals::read(db)));
        Box::pin(async move {
            let mut totals = read.await?;
            (totals.reads, totals.writes) = (reads, writes);
            Ok(totals)
        })
    }

    fn audit(&self, filter: AuditFilter) -> StoreFuture<'_, Vec<AuditEntry>> {
        self.read("reading the audit log", move |db| {
            Box::pin(audit::list(db, filter))
        })
    }
}
