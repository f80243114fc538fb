//! Stores each call: reserved before it is sent, settled at its end.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use http::HeaderMap;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;
use windlass_core::{Clock, SystemClock};
use windlass_tasks::{
    CallAdmission, CallLabels, CallStatus, CallTokens, ModelCallEnd, ModelCallId, ModelCalls,
    NewModelCall, SpendLimit,
};
use windlass_wire::{Dialect, ModelError, ReportedUsage};

use crate::account_slots::{AccountSlot, AccountSlots};
use crate::limit_answer::LimitAnswer;
use crate::limited_accounts::LimitedAccounts;
use crate::policy::CallPolicy;
use crate::prices::{ModelPrices, PriceTable};
use crate::request_facts::RequestFacts;

/// How long the end of the program waits for calls to be stored.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The prices of calls, and what they may cost and ask for.
#[derive(Debug, Clone, Default)]
pub struct MeterSettings {
    /// Prices of models, in addition to the built-in ones or instead.
    pub prices: Vec<(String, ModelPrices)>,
    /// What may be spent.
    pub limits: Vec<SpendLimit>,
    /// What calls may ask for.
    pub policy: CallPolicy,
}

/// Stores calls.
#[derive(Debug)]
pub(crate) struct Meter {
    settings: MeterSettings,
    /// Read with the first call.
    prices: OnceLock<PriceTable>,
    store: OnceCell<Option<Arc<dyn ModelCalls>>>,
    /// Opens the store with the first call.
    opener: OnceLock<StoreOpener>,
    /// Calls whose start or end is being stored.
    pending: TaskTracker,
    clock: Arc<dyn Clock>,
    limited: LimitedAccounts,
    slots: AccountSlots,
}

/// Opens a store. `None` if there is none.
pub(crate) struct StoreOpener(pub(crate) Box<dyn Fn() -> OpeningStore + Send + Sync>);

/// A store that is being opened.
pub(crate) type OpeningStore = BoxFuture<'static, Option<Arc<dyn ModelCalls>>>;

impl fmt::Debug for StoreOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreOpener")
    }
}

/// The id of a call, once it is stored. `None` if that failed.
type StoredId = Shared<BoxFuture<'static, Option<ModelCallId>>>;

/// A call that was sent, until it is settled.
#[derive(Debug)]
pub(crate) struct MeteredCall {
    meter: Arc<Meter>,
    /// `None` without a store.
    id: Option<StoredId>,
    labels: CallLabels,
    requested_model: Option<String>,
    started: Duration,
    /// Its place among the calls of the account. It is free again when the call ends.
    _slot: Option<AccountSlot>,
}

impl Meter {
    pub(crate) fn new(settings: MeterSettings) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        Self {
            settings,
            prices: OnceLock::new(),
            store: OnceCell::new(),
            opener: OnceLock::new(),
            pending: TaskTracker::new(),
            limited: LimitedAccounts::new(Arc::clone(&clock)),
            slots: AccountSlots::default(),
            clock,
        }
    }

    pub(crate) fn slots(&self) -> &AccountSlots {
        &self.slots
    }

    fn prices(&self) -> &PriceTable {
        self.prices
            .get_or_init(|| PriceTable::with(self.settings.prices.iter().cloned()))
    }

    /// Sets where calls are stored. A second store is ignored.
    pub(crate) fn store_in(&self, store: Arc<dyn ModelCalls>) {
        let _ = self.store.set(Some(store));
    }

    /// Opens the store with the first call. A second one is ignored.
    pub(crate) fn open_with(&self, opener: StoreOpener) {
        let _ = self.opener.set(opener);
    }

    async fn store(&self) -> Option<Arc<dyn ModelCalls>> {
        if let Some(store) = self.store.get() {
            return store.clone();
        }
        let StoreOpener(opener) = self.opener.get()?;
        self.store.get_or_init(opener).await.clone()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Waits until all calls that have ended are stored.
    pub(crate) async fn flush(&self) {
        self.pending.close();
        if tokio::time::timeout(FLUSH_TIMEOUT, self.pending.wait())
            .await
            .is_err()
        {
            tracing::warn!("some model calls were not stored in time");
        }
        self.pending.reopen();
    }

    /// Stores the start of a call. With limits, the call must be stored before it may be sent; the error is why it may
    /// not. Without limits it is stored meanwhile.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        labels: &CallLabels,
        request: &RequestFacts,
    ) -> Result<MeteredCall, String> {
        let limits = &self.settings.limits;
        let started = self.clock.elapsed();
        let call = self.new_call(labels, request);
        let id = match self.store().await {
            None if limits.is_empty() => None,
            None => return Err("there is a spending limit, but no store to count in".to_owned()),
            Some(store) if limits.is_empty() => Some(self.store_meanwhile(store, call)),
            Some(store) => {
                let id = admit(&store, call, limits.clone()).await?;
                Some(std::future::ready(Some(id)).boxed().shared())
            }
        };
        Ok(MeteredCall {
            meter: Arc::clone(self),
            id,
            labels: labels.clone(),
            requested_model: request.model.clone(),
            started,
            _slot: None,
        })
    }

    /// Returns the limit of the account, if the provider has said that it must wait.
    pub(crate) async fn account_limit(&self, labels: &CallLabels) -> Option<LimitAnswer> {
        let store = self.store().await;
        self.limited.check(store.as_deref(), labels).await
    }

    /// Returns why the policy does not allow a call. It then counts as refused.
    pub(crate) async fn policy_problem(
        &self,
        labels: &CallLabels,
        request: &RequestFacts,
        body: &[u8],
    ) -> Option<String> {
        let problem = self.settings.policy.refuse(request, body)?;
        tracing::warn!(agent = labels.agent, problem, "a model call was refused");
        self.store_refused(labels, request, Some(problem.clone()))
            .await;
        Some(problem)
    }

    /// Returns the request as the policy allows it to be sent.
    pub(crate) fn mask(&self, body: Bytes) -> Bytes {
        self.settings.policy.mask(body)
    }

    /// Stores a call that was not sent.
    pub(crate) async fn store_refused(
        &self,
        labels: &CallLabels,
        request: &RequestFacts,
        reason: Option<String>,
    ) {
        let Some(store) = self.store().await else {
            return;
        };
        let call = self.new_call(labels, request);
        if let Err(error) = store.refuse_call(call, reason).await {
            tracing::warn!(%error, "a refused model call was not stored");
        }
    }

    /// Stores that the provider limits an account, if an error says so. Returns the limit.
    pub(crate) async fn read_limit(
        &self,
        labels: &CallLabels,
        dialect: Option<Dialect>,
        (status, headers, body): (u16, &HeaderMap, &[u8]),
    ) -> Option<LimitAnswer> {
        let dialect = dialect.unwrap_or(Dialect::Chat);
        let answer = LimitAnswer::read(dialect, status, headers, body, self.now());
        self.add_limit(labels, answer.as_ref()).await;
        answer
    }

    /// Stores that the provider limits an account, if an error says so.
    pub(crate) async fn on_error(&self, labels: &CallLabels, error: &ModelError) {
        let answer = LimitAnswer::from_error(error, self.now());
        self.add_limit(labels, answer.as_ref()).await;
    }

    async fn add_limit(&self, labels: &CallLabels, answer: Option<&LimitAnswer>) {
        if let Some(answer) = answer {
            let store = self.store().await;
            self.limited.add(store.as_deref(), labels, answer).await;
        }
    }

    fn now(&self) -> jiff::Timestamp {
        let now = i64::try_from(self.clock.now().0).unwrap_or(i64::MAX);
        jiff::Timestamp::from_millisecond(now).unwrap_or_default()
    }

    fn new_call(&self, labels: &CallLabels, request: &RequestFacts) -> NewModelCall {
        let api = request.dialect.map_or("other", |api| api.as_str());
        NewModelCall {
            labels: labels.clone(),
            api: api.to_owned(),
            model: request.model.clone(),
            reserved_nanos: self.prices().max_nanos(request),
        }
    }

    fn store_meanwhile(&self, store: Arc<dyn ModelCalls>, call: NewModelCall) -> StoredId {
        let stored = async move {
            match store.begin_call(call, Vec::new()).await {
                Ok(CallAdmission::Admitted { id, .. }) => Some(id),
                Ok(CallAdmission::Refused { .. }) => None,
                Err(error) => {
                    tracing::warn!(%error, "a model call was not stored");
                    None
                }
            }
        };
        let stored = stored.boxed().shared();
        self.pending.spawn(stored.clone());
        stored
    }
}

/// Reserves the most that a call can cost.
async fn admit(
    store: &Arc<dyn ModelCalls>,
    call: NewModelCall,
    limits: Vec<SpendLimit>,
) -> Result<ModelCallId, String> {
    let model = call
        .model
        .clone()
        .unwrap_or_else(|| "this model".to_owned());
    let reserved = call.reserved_nanos;
    // What cannot be counted is not sent.
    let admission = store.begin_call(call, limits).await;
    match admission.map_err(|error| format!("the call cannot be counted: {error}"))? {
        CallAdmission::Admitted { id, notices } => {
            for scope in notices {
                let scope = scope.as_str();
                tracing::warn!("80 % of the spending limit of the {scope} are reserved or spent");
            }
            Ok(id)
        }
        CallAdmission::Refused { limit, spent_nanos } => {
            let scope = limit.scope.as_str();
            let Some(reserved) = reserved else {
                return Err(format!(
                    "the price of {model} is unknown, and there is a spending limit for the {scope}: set its price in [prices]"
                ));
            };
            Err(format!(
                "the spending limit of the {scope} is {}: {} are spent or reserved, and this call may cost {}",
                dollars(limit.nanos),
                dollars(spent_nanos),
                dollars(reserved)
            ))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
fn dollars(nanos: i64) -> String {
    format!("${:.4}", nanos as f64 / 1e9)
}

impl MeteredCall {
    /// Keeps a place among the calls of the account until the end.
    pub(crate) fn in_slot(self, slot: Option<AccountSlot>) -> Self {
        Self {
            _slot: slot,
            ..self
        }
    }

    /// Stores the end of the call.
    pub(crate) fn settle(self, status: CallStatus, http_status: Option<u16>, found: ReportedUsage) {
        let meter = self.meter;
        if let Some(error) = found.error {
            let (limited, labels) = (Arc::clone(&meter), self.labels);
            meter.pending.spawn(async move {
                limited.on_error(&labels, &error).await;
            });
        }
        let Some(id) = self.id else {
            return;
        };
        let Some(store) = meter.store.get().cloned().flatten() else {
            return;
        };
        let model = found.model.or(self.requested_model);
        let tokens = found.usage.map(|usage| CallTokens {
            input: usage.input_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            output: usage.output_tokens,
            reasoning: usage.reasoning_tokens,
        });
        let cost_nanos = match status {
            // The provider does not charge for an error.
            CallStatus::Failed => Some(0),
            // What a response that ended early costs is not known: what was reserved counts.
            _ if !found.is_final => None,
            _ => tokens.and_then(|tokens| meter.prices().cost_nanos(model.as_deref(), &tokens)),
        };
        let end = ModelCallEnd {
            status,
            http_status,
            model,
            tokens,
            cost_nanos,
            duration: meter.clock.elapsed().saturating_sub(self.started),
        };
        meter.pending.spawn(async move {
            let Some(id) = id.await else {
                return;
            };
            if let Err(error) = store.end_call(id, end).await {
                tracing::warn!(%error, "the end of a model call was not stored");
            }
        });
    }
}
