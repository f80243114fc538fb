//! The bridge of a process.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use windlass_agents::bridge::{
    BridgeLease, BridgedAccess, CountedCall, ModelBridge, ModelRoute, OwnRequest,
};
use windlass_agents::http::ForwardClient;
use windlass_core::{Error, ErrorCode, Result, SecretString};
use windlass_tasks::ModelCalls;
use windlass_wire::ModelError;

use crate::forward::Forwarder;
use crate::listener;
use crate::meter::{Meter, MeterSettings, StoreOpener};
use crate::own_call;
use crate::recording::CallRecorder;
use crate::route::{ProviderRoute, Routes, labels};

/// The bridge of a process. It listens from the first agent on, until it is dropped.
#[derive(Debug)]
pub struct Bridge {
    forwarder: Arc<Forwarder>,
    address: Mutex<Option<SocketAddr>>,
    stop: CancellationToken,
}

impl Bridge {
    /// Creates a bridge. Nothing is opened yet.
    pub fn new(settings: MeterSettings) -> Self {
        Self {
            forwarder: Arc::new(Forwarder {
                routes: Routes::default(),
                meter: Arc::new(Meter::new(settings)),
                client: ForwardClient::default(),
                recorder: OnceLock::new(),
            }),
            address: Mutex::new(None),
            stop: CancellationToken::new(),
        }
    }

    /// Sets where calls are stored. A second store is ignored.
    pub fn store_in(&self, store: Arc<dyn ModelCalls>) {
        self.forwarder.meter.store_in(store);
    }

    /// Opens the store with the first call. `None` means that calls are not stored. A second opener is ignored.
    pub fn open_store_with(
        &self,
        opener: impl Fn() -> BoxFuture<'static, Option<Arc<dyn ModelCalls>>> + Send + Sync + 'static,
    ) {
        self.forwarder
            .meter
            .open_with(StoreOpener(Box::new(opener)));
    }

    /// Gives every call to this recorder. A second recorder is ignored.
    pub fn record_with(&self, recorder: Arc<dyn CallRecorder>) {
        let _ = self.forwarder.recorder.set(recorder);
    }

    /// Waits until all calls that have ended are stored and recorded, for a limited time.
    pub async fn flush(&self) {
        self.forwarder.meter.flush().await;
        if let Some(recorder) = self.forwarder.recorder.get().cloned() {
            // It fails if the recorder panics, which was then reported.
            let _ = tokio::task::spawn_blocking(move || recorder.flush()).await;
        }
    }

    /// Returns the address of the listener, which is opened by the first call.
    fn address(&self) -> Result<SocketAddr> {
        let mut address = self.address.lock();
        if let Some(address) = *address {
            return Ok(address);
        }
        let (listener, bound) = listener::bind()
            .map_err(|error| failed(format!("the bridge cannot listen on loopback: {error}")))?;
        let forwarder = Arc::clone(&self.forwarder);
        tokio::spawn(listener::accept(listener, forwarder, self.stop.clone()));
        *address = Some(bound);
        Ok(bound)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl ModelBridge for Bridge {
    fn open(&self, route: ModelRoute) -> Result<BridgedAccess> {
        let address = self.address()?;
        let mut keys: Vec<Option<SecretString>> = route.keys.into_iter().map(Some).collect();
        if keys.is_empty() && !route.own_login {
            keys.push(None);
        }
        let keys: Vec<_> = keys.into_iter().map(|key| (token(), key)).collect();
        let tokens = keys.iter().map(|(token, _)| token.clone()).collect();
        let labels = labels(route.agent, route.work);
        let (mut open, path) = ProviderRoute::new(&route.upstream, keys, labels)
            .map_err(|problem| Error::config("endpoint", problem))?;
        open.max_calls = route.max_calls;
        for key in route.more_keys {
            open.add_account(key);
        }
        if route.own_login {
            open.use_account_of_person();
        }
        let id = uuid::Uuid::new_v4().simple().to_string();
        let guard = self.forwarder.routes.add(&id, open);
        let guard = guard.ok_or_else(|| failed("the bridge has too many agents".to_owned()))?;
        Ok(BridgedAccess {
            url: format!("http://{address}/{id}{path}"),
            tokens,
            lease: BridgeLease::new(guard),
        })
    }

    fn records(&self) -> bool {
        self.forwarder.recorder.get().is_some()
    }

    fn begin_call(
        &self,
        route: ModelRoute,
        request: OwnRequest,
    ) -> BoxFuture<'_, std::result::Result<Box<dyn CountedCall>, ModelError>> {
        let meter = Arc::clone(&self.forwarder.meter);
        Box::pin(async move {
            let call = own_call::begin(meter, route, request).await?;
            Ok(Box::new(call) as Box<dyn CountedCall>)
        })
    }
}

/// Returns a new token.
fn token() -> SecretString {
    SecretString::from(format!("windlass-{}", uuid::Uuid::new_v4().simple()))
}

fn failed(message: String) -> Error {
    Error::agent(ErrorCode::BackendError, message)
}
