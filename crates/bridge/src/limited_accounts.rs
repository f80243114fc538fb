//! Accounts that must wait, as all processes of a store know them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::Clock;
use windlass_tasks::{AccountLimit, CallLabels, ModelCalls, NewAccountLimit};

use crate::limit_answer::{LimitAnswer, MAX_AGENT_WAIT};

/// How long the limits of the store are remembered.
const FRESH: Duration = Duration::from_secs(1);

/// Limited accounts, with what other processes have found.
#[derive(Debug)]
pub(crate) struct LimitedAccounts {
    clock: Arc<dyn Clock>,
    state: Mutex<KnownLimits>,
}

#[derive(Debug, Default)]
struct KnownLimits {
    /// When the store was read.
    read_at: Option<Duration>,
    accounts: HashMap<String, KnownLimit>,
}

/// A limit, by the clock of this process.
#[derive(Debug)]
struct KnownLimit {
    ends: Duration,
    reason: String,
    /// Agents wait for it by themselves, as their own retries say. Only tasks look at it.
    is_short: bool,
    /// The agents for which the store has it.
    agents: HashSet<String>,
    /// The store does not have it, because it could not be written. It is then kept here, and stored later.
    is_unsaved: bool,
}

impl LimitedAccounts {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::default();
        Self { clock, state }
    }

    /// Returns the limit of an account, if its calls must wait. The store then has the limit for the agent, too.
    pub(crate) async fn check(
        &self,
        store: Option<&dyn ModelCalls>,
        labels: &CallLabels,
    ) -> Option<LimitAnswer> {
        if let Some(store) = store.filter(|_| self.must_read()) {
            match store.account_limits().await {
                Ok(limits) => self.set(limits),
                Err(error) => tracing::warn!(%error, "the limits of accounts were not read"),
            }
        }
        let (answer, is_new) = self.known(labels)?;
        if is_new {
            self.store(store, labels, &answer).await;
        }
        Some(answer)
    }

    /// Stores that an account must wait.
    pub(crate) async fn add(
        &self,
        store: Option<&dyn ModelCalls>,
        labels: &CallLabels,
        answer: &LimitAnswer,
    ) {
        let seconds = answer.wait.as_secs();
        tracing::warn!(
            account = labels.account,
            seconds,
            reason = answer.reason,
            "the provider limits an account"
        );
        self.state.lock().accounts.insert(
            labels.account.clone(),
            KnownLimit {
                ends: self.clock.elapsed() + answer.wait,
                reason: answer.reason.clone(),
                is_short: answer.wait <= MAX_AGENT_WAIT,
                agents: HashSet::from([labels.agent.clone()]),
                is_unsaved: false,
            },
        );
        self.store(store, labels, answer).await;
    }

    async fn store(
        &self,
        store: Option<&dyn ModelCalls>,
        labels: &CallLabels,
        answer: &LimitAnswer,
    ) {
        let Some(store) = store else {
            return;
        };
        let limit = NewAccountLimit {
            account: labels.account.clone(),
            agent: labels.agent.clone(),
            wait: answer.wait,
            reason: answer.reason.clone(),
        };
        let stored = store.limit_account(limit).await;
        if let Err(error) = &stored {
            tracing::warn!(%error, "the limit of an account was not stored");
        }
        if let Some(known) = self.state.lock().accounts.get_mut(&labels.account) {
            known.is_unsaved = stored.is_err();
        }
    }

    /// Returns `true` for one caller after the other, if what is known is old.
    fn must_read(&self) -> bool {
        let now = self.clock.elapsed();
        let mut state = self.state.lock();
        let is_old = state
            .read_at
            .is_none_or(|at| now.saturating_sub(at) >= FRESH);
        if is_old {
            state.read_at = Some(now);
        }
        is_old
    }

    fn set(&self, limits: Vec<AccountLimit>) {
        let now = self.clock.elapsed();
        let mut state = self.state.lock();
        let mut before = std::mem::take(&mut state.accounts);
        for limit in limits {
            let known = before.remove(&limit.account);
            let was_short = known.as_ref().is_none_or(|known| known.is_short);
            let known = KnownLimit {
                ends: now + limit.remaining,
                reason: limit.reason,
                is_short: was_short && limit.remaining <= MAX_AGENT_WAIT,
                agents: known.map(|known| known.agents).unwrap_or_default(),
                is_unsaved: false,
            };
            state.accounts.insert(limit.account, known);
        }
        let unsaved = before.into_iter().filter(|(_, known)| known.is_unsaved);
        state.accounts.extend(unsaved);
    }

    /// Returns the limit of an account, and whether the agent meets it for the first time.
    fn known(&self, labels: &CallLabels) -> Option<(LimitAnswer, bool)> {
        let now = self.clock.elapsed();
        let mut state = self.state.lock();
        let known = state.accounts.get_mut(&labels.account);
        let known = known.filter(|known| !known.is_short)?;
        let wait = known.ends.checked_sub(now).filter(|wait| !wait.is_zero())?;
        let is_new = known.agents.insert(labels.agent.clone()) || known.is_unsaved;
        let reason = known.reason.clone();
        Some((LimitAnswer { wait, reason }, is_new))
    }
}
