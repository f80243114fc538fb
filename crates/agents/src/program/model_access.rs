//! How a process reaches its model: the endpoint and the keys that it gets.

use windlass_core::{Error, ExposeSecret, Result, SecretString, WorkLabel};

use super::agent_program::AgentProgram;
use super::api_keys::{ApiKeys, api_keys, more_keys};
use super::command_line::{Endpoint, EndpointAuth};
use super::login;
use super::template;
use crate::bridge::{BridgeLease, BridgeMode, ModelRoute};
use crate::{AgentContext, ProgramSettings};

/// Agents that read their endpoint from a file in a home that all their processes share. They call directly: each process
/// needs its own address.
const ENDPOINT_IN_FILE: &[&str] = &["pi-acp", "vibe"];

/// The endpoint and the keys of a process: those of its settings, or the address and the tokens of the bridge.
#[derive(Debug)]
pub(crate) struct ModelAccess {
    pub(crate) keys: ApiKeys,
    /// The value of the placeholder `{api_key}`.
    template_key: Option<SecretString>,
    url: Option<String>,
    /// Hosts that the agent needs besides its endpoint to renew its own login, if it uses that.
    pub(crate) login_hosts: Option<Vec<&'static str>>,
    /// Keeps the address of the bridge open.
    pub(crate) lease: Option<BridgeLease>,
}

impl ModelAccess {
    /// Returns the endpoint and the keys of the settings.
    pub(crate) fn direct(
        program: &AgentProgram,
        settings: &ProgramSettings,
        context: &AgentContext,
    ) -> Result<Self> {
        check_endpoint(program, settings)?;
        let variable = settings.api_key_env.as_deref();
        Ok(Self {
            keys: api_keys(program, settings, context)?,
            template_key: variable.and_then(|variable| context.secret(variable)),
            url: settings.endpoint.clone(),
            login_hosts: None,
            lease: None,
        })
    }

    /// Opens an address of the bridge, if there is one and the agent's provider is known.
    pub(crate) fn open(
        program: &AgentProgram,
        settings: &ProgramSettings,
        context: &AgentContext,
        work: &WorkLabel,
    ) -> Result<Self> {
        let mut access = Self::direct(program, settings, context)?;
        let more_keys = more_keys(settings, context)?;
        let upstream = match settings.bridge {
            BridgeMode::On => provider(program, settings, context, &access),
            BridgeMode::PassThrough => Some(access.use_login(program, settings, context)?),
            BridgeMode::Off => None,
        };
        let (Some(bridge), Some(upstream)) = (context.bridge(), upstream) else {
            return Ok(access);
        };
        let mut keys: Vec<SecretString> = access.keys.iter().map(|(_, key)| key.clone()).collect();
        if keys.is_empty() {
            keys.extend(access.template_key.clone());
        }
        let agent = settings.name.as_deref().unwrap_or(program.name).to_owned();
        let opened = bridge.open(ModelRoute {
            agent,
            upstream,
            keys,
            more_keys,
            max_calls: settings.max_calls,
            own_login: access.login_hosts.is_some(),
            work: WorkLabel {
                person: work.person.clone().or_else(|| context.user()),
                ..work.clone()
            },
            ..ModelRoute::default()
        })?;
        let token = opened.tokens.first().cloned();
        if access.keys.is_empty() {
            // The token authenticates the agent, also if the provider needs no key.
            let variable = program.keys.first().copied();
            access.keys.extend(variable.zip(token.clone()));
        } else {
            for ((_, key), token) in access.keys.iter_mut().zip(opened.tokens) {
                *key = token;
            }
        }
        access.template_key = access.template_key.and(token);
        access.url = Some(opened.url);
        access.lease = Some(opened.lease);
        Ok(access)
    }

    /// Makes the agent use its own login instead of a key. Returns the base URL of its provider.
    fn use_login(
        &mut self,
        program: &AgentProgram,
        settings: &ProgramSettings,
        context: &AgentContext,
    ) -> Result<String> {
        let upstream = login::provider(program, settings, context)?;
        let host = upstream.host().to_owned();
        let others = program.hosts.iter().filter(|other| **other != host);
        self.login_hosts = Some(others.copied().collect());
        self.keys.clear();
        Ok(format!("{}{}", upstream.origin(), upstream.path()))
    }

    /// Returns the endpoint to configure, if it is not the agent's own.
    pub(crate) fn endpoint(&self) -> Option<Endpoint<'_>> {
        let url = self.url.as_deref()?;
        let auth = match (&self.login_hosts, self.keys.as_slice()) {
            (Some(_), _) => EndpointAuth::OwnLogin,
            (None, []) => EndpointAuth::None,
            (None, _) => EndpointAuth::Key,
        };
        Some(Endpoint { url, auth })
    }

    /// Returns the variables of `extra_env` with their placeholders replaced.
    pub(crate) fn variables<'a>(
        &self,
        settings: &'a ProgramSettings,
        model: Option<&str>,
    ) -> Result<Vec<(&'a str, SecretString)>> {
        let endpoint = self.endpoint();
        let endpoint = endpoint.map(|endpoint| endpoint.url_without_version());
        let key = self.template_key.as_ref().map(|key| key.expose_secret());
        template::expand(settings, (endpoint.as_deref(), key), model)
    }
}

/// Returns the base URL of the agent's provider: the endpoint, or that of its maker if the agent is used with a key. An
/// agent that the user has logged in is not used with a key, unless the settings name one.
fn provider(
    program: &AgentProgram,
    settings: &ProgramSettings,
    context: &AgentContext,
    access: &ModelAccess,
) -> Option<String> {
    let is_configurable =
        program.endpoint.is_some() || template::uses(settings, template::ENDPOINT);
    if !is_configurable || ENDPOINT_IN_FILE.contains(&program.name) {
        return None;
    }
    if settings.endpoint.is_some() {
        return settings.endpoint.clone();
    }
    let has_key = settings.api_key_env.is_some()
        || !access.keys.is_empty() && !login::is_stored(program, settings, context);
    // Such a variable selects another provider than the maker's.
    let is_maker = !settings
        .extra_env
        .values()
        .any(|value| value.contains("://"));
    let maker = program.provider.filter(|_| has_key && is_maker);
    maker.map(str::to_owned)
}

/// Checks that an agent supports another endpoint, if one is set: directly or by a template in `extra_env`.
pub(crate) fn check_endpoint(program: &AgentProgram, settings: &ProgramSettings) -> Result<()> {
    let is_supported = program.endpoint.is_some() || template::uses(settings, template::ENDPOINT);
    if settings.endpoint.is_none() || is_supported {
        return Ok(());
    }
    let problem = if program.programs.is_empty() {
        "name the variable that sets the agent's endpoint, such as \
         extra_env = { OPENAI_BASE_URL = \"{endpoint}/v1\" }, or remove this setting"
            .to_owned()
    } else {
        let name = program.name;
        format!("{name} does not support another endpoint: remove this setting")
    };
    Err(Error::config("endpoint", problem))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use serde_json::{Value, json};
    use windlass_sandbox::{Host, Mechanism, Sandbox};
    use windlass_wire::ModelError;

    use super::*;
    use crate::bridge::{BridgedAccess, CountedCall, ModelBridge, OwnRequest};
    use crate::program::known;

    const KEY: &str = "sk-canary";

    /// Gives the tokens `token-0` and so on, and remembers the providers.
    #[derive(Debug, Default)]
    struct FakeBridge {
        upstreams: Mutex<Vec<String>>,
    }

    impl ModelBridge for FakeBridge {
        fn open(&self, route: ModelRoute) -> Result<BridgedAccess> {
            self.upstreams.lock().push(route.upstream);
            let count = if route.own_login {
                0
            } else {
                route.keys.len().max(1)
            };
            let tokens = (0..count).map(|number| format!("token-{number}"));
            Ok(BridgedAccess {
                url: "http://127.0.0.1:1/id/v1".to_owned(),
                tokens: tokens.map(SecretString::from).collect(),
                lease: BridgeLease::new(()),
            })
        }

        fn begin_call(
            &self,
            _: ModelRoute,
            _: OwnRequest,
        ) -> BoxFuture<'_, std::result::Result<Box<dyn CountedCall>, ModelError>> {
            unreachable!("programs call their models themselves")
        }
    }

    async fn open(
        program: &AgentProgram,
        config: Value,
        secrets: &'static [&'static str],
    ) -> (Option<String>, Vec<String>) {
        try_open(program, config, secrets).await.unwrap()
    }

    /// Returns the provider that is called through the bridge, and the values that the agent gets.
    async fn try_open(
        program: &AgentProgram,
        config: Value,
        secrets: &'static [&'static str],
    ) -> Result<(Option<String>, Vec<String>)> {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/auth.json"), "{}").unwrap();
        let host = Host::new([("HOME", home.path().to_str().unwrap())]);
        let sandbox = Sandbox::with_mechanism(host, Mechanism::None)
            .await
            .unwrap();
        let bridge = Arc::new(FakeBridge::default());
        let context = AgentContext::new(sandbox, home.path().join("state"))
            .with_secrets(|name| secrets.contains(&name).then(|| SecretString::from(KEY)))
            .with_bridge(Arc::clone(&bridge) as Arc<dyn ModelBridge>);
        let settings = ProgramSettings::from_value(&config).unwrap();
        let work = WorkLabel::default();
        let access = ModelAccess::open(program, &settings, &context, &work)?;
        let variables = access.variables(&settings, None).unwrap();
        let keys = access.keys.iter().map(|(name, key)| (*name, key.clone()));
        let values = keys.chain(variables);
        let values = values.map(|(name, key)| format!("{name}={}", key.expose_secret()));
        Ok((bridge.upstreams.lock().pop(), values.collect()))
    }

    #[tokio::test]
    async fn p18_agent_with_an_endpoint_gets_a_token_instead_of_the_key() {
        let config = json!({ "endpoint": "https://h/v1", "api_key_env": "MY_KEY" });
        let (upstream, values) = open(&known::codex::PROGRAM, config, &["MY_KEY"]).await;
        assert_eq!(upstream.as_deref(), Some("https://h/v1"));
        assert_eq!(values, ["OPENAI_API_KEY=token-0"]);
        let without_key = json!({ "endpoint": "https://h/v1" });
        let (_, values) = open(&known::codex::PROGRAM, without_key, &[]).await;
        assert_eq!(values, ["OPENAI_API_KEY=token-0"]);
    }

    #[tokio::test]
    async fn p18_template_gets_the_token() {
        let config = json!({
            "endpoint": "https://h/v1",
            "api_key_env": "MY_KEY",
            "extra_env": { "A": "{endpoint}", "B": "{api_key}" },
        });
        let (upstream, values) = open(&known::UNKNOWN, config, &["MY_KEY"]).await;
        assert!(upstream.is_some());
        assert_eq!(values, ["A=http://127.0.0.1:1/id", "B=token-0"]);
    }

    #[tokio::test]
    async fn agent_with_a_key_calls_its_maker_through_the_bridge() {
        let keys = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
        let (upstream, values) = open(&known::claude::PROGRAM, json!({}), keys).await;
        assert_eq!(upstream.as_deref(), Some("https://api.anthropic.com"));
        assert_eq!(
            values,
            ["ANTHROPIC_API_KEY=token-0", "ANTHROPIC_AUTH_TOKEN=token-1"]
        );
        let own = json!({ "api_key_env": "MY_KEY" });
        let (upstream, _) = open(&known::codex::PROGRAM, own, &["MY_KEY"]).await;
        assert_eq!(upstream.as_deref(), Some("https://api.openai.com/v1"));
    }

    #[tokio::test]
    async fn p18_own_login_is_sent_to_its_own_provider_only() {
        let keys = &["OPENAI_API_KEY"];
        let config = json!({ "bridge": "pass_through" });
        let (upstream, values) = open(&known::codex::PROGRAM, config, keys).await;
        let provider = "https://chatgpt.com/backend-api/codex";
        assert_eq!(upstream.as_deref(), Some(provider));
        assert_eq!(values, [""; 0]);
        for (program, config, expected) in [
            (
                &known::codex::PROGRAM,
                json!({ "endpoint": "https://other.example/v1" }),
                "the login of codex is not sent to https://other.example",
            ),
            (
                &known::codex::PROGRAM,
                json!({ "endpoint": "http://chatgpt.com/backend-api/codex" }),
                "the login of codex is not sent to http://chatgpt.com",
            ),
            (
                &known::codex::PROGRAM,
                json!({ "api_key_env": "OPENAI_API_KEY" }),
                "remove api_key_env",
            ),
            (
                &known::claude::PROGRAM,
                json!({}),
                "claude has no login to pass on: run `claude` once to log in",
            ),
            (
                &known::qwen::PROGRAM,
                json!({}),
                "pass_through is not possible with qwen",
            ),
        ] {
            let mut config = config;
            config["bridge"] = json!("pass_through");
            let error = try_open(program, config, keys).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn several_accounts_need_the_bridge_and_a_first_key() {
        for (config, expected) in [
            (
                json!({ "bridge": "off", "api_key_env": "A" }),
                "several accounts need the bridge",
            ),
            (json!({}), "set api_key_env to the variable"),
        ] {
            let mut config = config;
            config["more_api_key_envs"] = json!(["B"]);
            let error = try_open(&known::claude::PROGRAM, config, &["A", "B"]).await;
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn other_agents_call_directly() {
        // Codex is logged in here, so the key is not the one that it uses.
        let (upstream, values) = open(&known::codex::PROGRAM, json!({}), &["OPENAI_API_KEY"]).await;
        assert_eq!(
            (upstream, values),
            (None, vec![format!("OPENAI_API_KEY={KEY}")])
        );
        for (program, config) in [
            (&known::claude::PROGRAM, json!({})),
            (&known::cursor::PROGRAM, json!({})),
            (
                &known::claude::PROGRAM,
                json!({ "endpoint": "http://h", "bridge": "off" }),
            ),
        ] {
            assert_eq!(open(program, config, &[]).await.0, None, "{}", program.name);
        }
        let elsewhere = json!({ "extra_env": { "ANTHROPIC_BASE_URL": "https://other.example" } });
        let (upstream, _) = open(&known::claude::PROGRAM, elsewhere, &["ANTHROPIC_API_KEY"]).await;
        assert_eq!(upstream, None);
    }
}
