//! The loaded configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Number, Value};
use windlass_sandbox::LimitOverrides;

use super::setting::{Setting, SettingMap};
use super::value_type::LandStrategy;
use super::{
    AgentKeys, Alias, AliasSettings, ChangeSettings, CommitKeys, CompositeSettings, Error,
    GatewaySettings, GeneralSettings, Key, LandSettings, LimitSettings, Notice, NotifySettings,
    Origin, PolicySettings, PriceKeys, PublishSettings, Result, ReviewSettings, RoutingSettings,
    RunSettings, SandboxSettings, ServeSettings, SpendSettings, StoreKeys, TaskSettings,
    TelemetrySettings, TestsSettings, WorkerSettings, WorkspaceSettings, redact,
};

/// The configuration, merged from all layers. Each table of `windlass.toml` is a field.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The agent that is used if none is named.
    pub default_agent: Option<String>,
    /// The configured agents, by name.
    pub agents: BTreeMap<String, AgentKeys>,
    /// The composites, by name.
    pub composites: BTreeMap<String, CompositeSettings>,
    /// The aliases, by the model name that a client requests.
    pub model_list: BTreeMap<String, Alias>,
    /// The gateway.
    pub gateway: GatewaySettings,
    /// The server.
    pub server: ServeSettings,
    /// The task store.
    pub store: StoreKeys,
    /// The tests.
    pub tests: TestsSettings,
    /// The clones.
    pub workspace: WorkspaceSettings,
    /// The commits of tasks.
    pub commit: CommitKeys,
    /// Pushes and pull requests.
    pub publish: PublishSettings,
    /// Notifications.
    pub notify: NotifySettings,
    /// Traces that are sent to a collector.
    pub telemetry: TelemetrySettings,
    /// `windlass run`.
    pub run: RunSettings,
    /// The worker.
    pub worker: WorkerSettings,
    /// Landing.
    pub land: LandSettings,
    /// The reviews.
    pub review: ReviewSettings,
    /// Tasks that build on each other.
    pub tasks: TaskSettings,
    /// The changes of attempts that are kept.
    pub changes: ChangeSettings,
    /// The sandbox.
    pub sandbox: SandboxSettings,
    /// The limits of a turn.
    pub limits: LimitSettings,
    /// Limits on the cost of model calls.
    pub spending: SpendSettings,
    /// The prices of models, by name.
    pub prices: BTreeMap<String, PriceKeys>,
    /// What model calls may ask for.
    pub policy: PolicySettings,
    /// The agents for kinds of tasks.
    pub routing: RoutingSettings,
    pub(super) layers: Layers,
}

/// The merged layers, before they are read into fields.
#[derive(Debug, Clone)]
pub(super) struct Layers {
    pub(super) settings: SettingMap,
    pub(super) notices: Vec<Notice>,
    pub(super) secrets: BTreeMap<String, SecretString>,
    /// All variables of `.env`, trusted or not. They are masked, and used for nothing else.
    pub(super) dot_env: BTreeMap<String, SecretString>,
    pub(super) root: PathBuf,
}

/// One line of `windlass config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// The key.
    pub key: String,
    /// The value as JSON, with secrets redacted and control characters escaped.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
}

impl Config {
    /// Reads the merged layers into fields.
    pub(super) fn new(layers: Layers) -> Result<Self> {
        let tables = layers.settings.to_tables();
        let aliases = named(&tables["model_list"], AliasSettings::read)?.into_iter();
        let aliases =
            aliases.filter_map(|(name, alias)| Some((name, Alias::new(alias, &layers.root)?)));
        let land = LandSettings::read(&tables["land"])?;
        check_land(&land, &layers)?;
        Ok(Self {
            default_agent: GeneralSettings::read(&tables)?.default_agent,
            agents: named(&tables["agents"], AgentKeys::read)?,
            composites: named(&tables["composites"], CompositeSettings::read)?,
            model_list: aliases.collect(),
            gateway: GatewaySettings::read(&tables["gateway"])?,
            server: ServeSettings::read(&tables["server"])?,
            store: StoreKeys::read(&tables["store"])?,
            tests: TestsSettings::read(&tables["tests"])?,
            workspace: WorkspaceSettings::read(&tables["workspace"])?,
            commit: CommitKeys::read(&tables["commit"])?,
            publish: PublishSettings::read(&tables["publish"])?,
            notify: NotifySettings::read(&tables["notify"])?,
            telemetry: TelemetrySettings::read(&tables["telemetry"])?,
            run: RunSettings::read(&tables["run"])?,
            worker: WorkerSettings::read(&tables["worker"])?,
            land,
            review: ReviewSettings::read(&tables["review"])?,
            tasks: TaskSettings::read(&tables["tasks"])?,
            changes: ChangeSettings::read(&tables["changes"])?,
            sandbox: SandboxSettings::read(&tables["sandbox"])?,
            limits: LimitSettings::read(&tables["limits"])?,
            spending: SpendSettings::read(&tables["spending"])?,
            prices: named(&tables["prices"], PriceKeys::read)?,
            policy: PolicySettings::read(&tables["policy"])?,
            routing: RoutingSettings::read(&tables["routing"])?,
            layers,
        })
    }

    /// Returns the secret in a variable: from the environment, else from a trusted `.env`.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.layers.secrets.get(name).cloned()
    }

    /// Returns the limits of sandboxed processes that replace the defaults.
    pub fn sandbox_limits(&self) -> LimitOverrides {
        const GIB: f64 = (1_u64 << 30) as f64;
        let bytes = |amount: &Option<Number>| {
            let gigabytes = amount.as_ref().and_then(Number::as_f64)?;
            Some((gigabytes * GIB) as u64)
        };
        let limits = &self.limits;
        LimitOverrides {
            memory_bytes: bytes(&limits.memory_gb),
            processes: limits.processes.map(u64::from),
            disk_bytes: bytes(&limits.disk_gb),
            file_bytes: bytes(&limits.file_gb),
            cpu_time: limits.cpu_secs,
        }
    }

    /// Returns the URL of the task store for display, with a password redacted.
    pub(crate) fn shown_store_url(&self) -> Option<String> {
        let url = self.store.url.as_deref()?;
        Some(redact::display_value(&url.into(), false))
    }

    /// Returns all settings, sorted by key.
    pub fn entries(&self) -> Vec<ConfigEntry> {
        let settings = self.layers.settings.iter();
        let entry = |(key, setting): (&Key, &Setting)| ConfigEntry {
            key: key.to_string(),
            value: setting.display(),
            origin: setting.origin.clone(),
        };
        settings.map(entry).collect()
    }

    /// Returns the notices for the user.
    pub fn notices(&self) -> &[Notice] {
        &self.layers.notices
    }

    /// Returns the project's directory. Relative paths in the configuration are relative to it.
    pub fn root(&self) -> &Path {
        &self.layers.root
    }
}

/// Refuses batches of changes that are rebased: each of them becomes a commit, and only the last one would be tested.
fn check_land(land: &LandSettings, layers: &Layers) -> Result<()> {
    if land.strategy != LandStrategy::Rebase || land.batch == 1 {
        return Ok(());
    }
    let mut settings = layers.settings.iter();
    let Some((key, setting)) = settings.find(|(key, _)| key.to_string() == "land.batch") else {
        return Ok(());
    };
    let found = format!("{} with land.strategy = \"rebase\"", land.batch);
    let expected = "1, because rebased changes are tested separately: remove it, or use the strategy \"merge\"";
    Err(Error::wrong_value(
        setting.origin.clone(),
        key,
        &found,
        expected,
    ))
}

/// Reads the entries of a table, of which each has a name chosen by the user.
fn named<T>(table: &Value, read: impl Fn(&Value) -> Result<T>) -> Result<BTreeMap<String, T>> {
    let entries = table.as_object().into_iter().flatten();
    entries
        .map(|(name, entry)| Ok((name.clone(), read(entry)?)))
        .collect()
}
