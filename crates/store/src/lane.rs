//! Group commit: one task takes what waits, does it in one transaction, and answers when that is committed.
//!
//! A commit costs a wait for the disk, whatever stands in it. While one is under way the next pieces of work gather,
//! so many clients share one wait. SQLite has one lane, because it has one writer. PostgreSQL has a few; work on the
//! same task always takes the same lane, so that lanes do not wait for each other in a circle.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::task::StoreError;

use crate::pools::{self, Pools};
use crate::session::Session;
use crate::watch::Signal;
use crate::work::{Ran, Stage, Work};

/// The pieces of work that one transaction takes.
const MOST: usize = 256;
/// The pieces of work that may wait for a lane.
const QUEUE: usize = 1_024;
/// How long a transaction may take before its connection is given up.
const LONGEST: Duration = Duration::from_secs(20);
/// How long to wait before trying again what may pass by itself: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// Where work goes in.
pub(crate) type Lane = mpsc::Sender<Box<dyn Work>>;

/// Opens a lane. It ends when nobody can send to it any more.
pub(crate) fn open(pools: Pools, signal: Signal) -> Lane {
    let (sender, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(drive(pools, signal, receiver));
    sender
}

async fn drive(pools: Pools, signal: Signal, mut queue: mpsc::Receiver<Box<dyn Work>>) {
    let mut usual = 1;
    // What must be undone goes first.
    let mut batch: Vec<Box<dyn Work>> = Vec::new();
    loop {
        if batch.is_empty() {
            match queue.recv().await {
                Some(work) => batch.push(work),
                None => return,
            }
        }
        gather(&mut queue, &mut batch, usual).await;
        usual = batch.len();
        batch = together(&pools, &signal, batch).await;
    }
}

/// Takes what waits. Those who were just answered come again at once: they are given a moment to.
async fn gather(
    queue: &mut mpsc::Receiver<Box<dyn Work>>,
    batch: &mut Vec<Box<dyn Work>>,
    usual: usize,
) {
    for _ in 0..8 {
        while batch.len() < MOST {
            match queue.try_recv() {
                Ok(work) => batch.push(work),
                Err(_) => break,
            }
        }
        if batch.len() >= usual.min(MOST) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Why a transaction did not come to its end.
enum Undone {
    /// A piece of work spoiled it.
    ByWork,
    /// The transaction itself failed; whether doing it again may help.
    Itself(StoreError, bool),
}

/// Does all of it in one transaction, or, where one spoils it, each by itself. Gives what must be undone.
async fn together(
    pools: &Pools,
    signal: &Signal,
    mut batch: Vec<Box<dyn Work>>,
) -> Vec<Box<dyn Work>> {
    batch.retain(|work| work.is_wanted());
    if batch.len() > 1 {
        match transaction(pools, signal, &mut batch).await {
            Ok(()) => return deliver(batch),
            Err(Undone::Itself(error, false)) => {
                fail(batch, &error);
                return Vec::new();
            }
            Err(Undone::ByWork | Undone::Itself(_, true)) => {}
        }
    }
    let mut undo = Vec::new();
    for work in batch {
        undo.extend(alone(pools, signal, work).await);
    }
    undo
}

/// Does one piece of work in a transaction of its own, again where that may help and somebody still waits.
async fn alone(pools: &Pools, signal: &Signal, work: Box<dyn Work>) -> Vec<Box<dyn Work>> {
    let mut batch = vec![work];
    let (mut pause, longest) = PAUSE;
    loop {
        if !batch.iter().all(|work| work.is_wanted()) {
            return Vec::new();
        }
        match transaction(pools, signal, &mut batch).await {
            // What it said when it spoiled its own transaction is its answer.
            Ok(()) | Err(Undone::ByWork) => return deliver(batch),
            Err(Undone::Itself(error, false)) => {
                fail(batch, &error);
                return Vec::new();
            }
            Err(Undone::Itself(error, true)) => {
                tracing::debug!(%error, "trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
        }
    }
}

fn deliver(batch: Vec<Box<dyn Work>>) -> Vec<Box<dyn Work>> {
    batch.into_iter().filter_map(Work::deliver).collect()
}

fn fail(batch: Vec<Box<dyn Work>>, error: &StoreError) {
    for work in batch {
        work.fail(error.clone());
    }
}

/// One transaction on one connection, which is given up if it ends in an unknown state.
async fn transaction(
    pools: &Pools,
    signal: &Signal,
    batch: &mut [Box<dyn Work>],
) -> Result<(), Undone> {
    let durable = batch.iter().any(|work| work.is_durable());
    let mut session = pools
        .writer()
        .await
        .map_err(|broken| Undone::Itself(broken.error, broken.again))?;
    let done = tokio::time::timeout(LONGEST, steps(pools, &mut session, batch, durable)).await;
    match done {
        Ok(Ok(last)) => {
            if let Some(last) = last {
                signal.raise(last);
            }
            Ok(())
        }
        Ok(Err(undone)) => {
            if session.script(pools::ROLLBACK).await.is_err() {
                session.close().await;
            }
            Err(undone)
        }
        Err(_) => {
            session.close().await;
            let what = "a transaction";
            let after = LONGEST;
            Err(Undone::Itself(StoreError::Timeout { what, after }, false))
        }
    }
}

async fn steps(
    pools: &Pools,
    session: &mut Session,
    batch: &mut [Box<dyn Work>],
    durable: bool,
) -> Result<Option<u64>, Undone> {
    pools
        .begin(session, durable)
        .await
        .map_err(|error| itself(session, error))?;
    for work in batch.iter_mut() {
        work.reach(Stage::Running);
        if work.run(session).await == Ran::Spoiled {
            if session.may_try_again() {
                let error = StoreError::Unavailable("the connection broke".to_owned());
                return Err(Undone::Itself(error, true));
            }
            return Err(Undone::ByWork);
        }
    }
    let last = match session.number().await {
        Ok(last) => last,
        Err(error) => return Err(itself(session, error)),
    };
    for work in batch.iter() {
        work.reach(Stage::Committing);
    }
    match session.script(pools::COMMIT).await {
        Ok(_) => Ok(last),
        // Whether it was kept is not known: doing it again might do it twice.
        Err(error) => Err(Undone::Itself(error, false)),
    }
}

fn itself(session: &Session, error: StoreError) -> Undone {
    Undone::Itself(error, session.may_try_again())
}
