//! The open addresses of the bridge.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use windlass_agents::bridge::ModelRoute;
use windlass_agents::http::BaseUrl;
use windlass_core::{ExposeSecret, SecretString, WorkLabel};
use windlass_tasks::{CallLabels, ProjectId, TaskId};

/// The most addresses that are open at the same time.
const MAX_ROUTES: usize = 10_000;

/// One address: where its calls go, and with which keys.
#[derive(Debug)]
pub(crate) struct ProviderRoute {
    /// Scheme, host and port of the provider.
    pub(crate) origin: String,
    /// Paths outside of it are refused. It has no trailing slash.
    pub(crate) base: String,
    pub(crate) is_local: bool,
    /// The agent's tokens, each with the key that replaces it.
    pub(crate) keys: Vec<(SecretString, Option<SecretString>)>,
    pub(crate) labels: CallLabels,
    /// The same with the keys of further accounts.
    pub(crate) others: Vec<ProviderRoute>,
    /// The most calls of one account at the same time.
    pub(crate) max_calls: Option<u32>,
}

impl ProviderRoute {
    /// Creates a route to the provider at this URL. Returns the path that the agent's base URL must end with, too.
    pub(crate) fn new(
        upstream: &str,
        keys: Vec<(SecretString, Option<SecretString>)>,
        labels: CallLabels,
    ) -> Result<(Self, String), String> {
        let url = BaseUrl::parse(upstream)?;
        let path = url.path().trim_end_matches('/').to_owned();
        // Some agents add the version themselves.
        let base = path.strip_suffix("/v1").unwrap_or(&path).to_owned();
        let account = account(
            &url.origin(),
            keys.first().and_then(|(_, key)| key.as_ref()),
        );
        let route = Self {
            origin: url.origin(),
            base,
            is_local: url.is_local(),
            keys,
            labels: CallLabels { account, ..labels },
            others: Vec::new(),
            max_calls: None,
        };
        Ok((route, path))
    }

    /// Returns what a call is counted for, and how many calls the account may make at the same time.
    pub(crate) fn call_labels(&self) -> (&CallLabels, Option<u32>) {
        (&self.labels, self.max_calls)
    }

    /// Adds an account: its key replaces the one of the only token.
    pub(crate) fn add_account(&mut self, key: SecretString) {
        let Some((token, _)) = self.keys.first() else {
            return;
        };
        let labels = CallLabels {
            account: account(&self.origin, Some(&key)),
            ..self.labels.clone()
        };
        let keys = vec![(token.clone(), Some(key))];
        self.others.push(Self {
            origin: self.origin.clone(),
            base: self.base.clone(),
            is_local: self.is_local,
            keys,
            labels,
            others: Vec::new(),
            max_calls: self.max_calls,
        });
    }

    /// Names the account after the person whose login the agent has.
    pub(crate) fn use_account_of_person(&mut self) {
        if let Some(person) = &self.labels.person {
            self.labels.account = format!("{}#{person}", self.labels.account);
        }
    }

    /// Returns the URL of the provider for a path with its query, if the path is inside of the provider's base.
    pub(crate) fn url(&self, path_and_query: &str) -> Option<String> {
        let path = path_and_query.split('?').next().unwrap_or_default();
        let inside = path.strip_prefix(self.base.as_str())?;
        let is_inside = inside.is_empty() || inside.starts_with('/');
        (is_inside && !leaves_base(path)).then(|| format!("{}{path_and_query}", self.origin))
    }
}

/// Returns what the calls of an agent are counted for, without the account.
pub(crate) fn labels(agent: String, work: WorkLabel) -> CallLabels {
    CallLabels {
        project: work.project.map(ProjectId::from),
        task: work.task.map(TaskId::from),
        attempt: work.attempt,
        agent,
        person: work.person,
        account: String::new(),
    }
}

/// Returns the name of the account of a route. Fails if the address of the provider is not valid.
pub(crate) fn account_of(route: &ModelRoute) -> Result<String, String> {
    if let Some(known) = route.account.get() {
        return Ok(known.clone());
    }
    let origin = BaseUrl::parse(&route.upstream)?.origin();
    let name = || account(&origin, route.keys.first());
    Ok(route.account.get_or_init(name).clone())
}

/// Returns the name of the account: the host, with a port that is not the usual one, and a mark that differs between keys.
fn account(origin: &str, key: Option<&SecretString>) -> String {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let Some(key) = key else {
        return host.to_owned();
    };
    let digest = Sha256::digest(key.expose_secret());
    let mark: String = digest[..3]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{host}#{mark}")
}

/// Returns `true` if a server may resolve the path to one that is not below its beginning.
fn leaves_base(path: &str) -> bool {
    let plain = path.to_ascii_lowercase().replace("%2e", ".");
    let plain = plain
        .replace("%2f", "/")
        .replace("%5c", "/")
        .replace('\\', "/");
    plain.split('/').any(|part| part == ".." || part == ".")
}

/// All open addresses, by the part of the path that names them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Routes {
    open: Arc<RwLock<HashMap<String, Arc<ProviderRoute>>>>,
}

impl Routes {
    pub(crate) fn get(&self, id: &str) -> Option<Arc<ProviderRoute>> {
        self.open.read().get(id).cloned()
    }

    /// Adds an address. It is closed when the guard is dropped.
    pub(crate) fn add(&self, id: &str, route: ProviderRoute) -> Option<RouteGuard> {
        let mut open = self.open.write();
        if open.len() >= MAX_ROUTES {
            return None;
        }
        open.insert(id.to_owned(), Arc::new(route));
        Some(RouteGuard {
            routes: self.clone(),
            id: id.to_owned(),
        })
    }
}

/// Closes an address when it is dropped.
#[derive(Debug)]
pub(crate) struct RouteGuard {
    routes: Routes,
    id: String,
}

impl Drop for RouteGuard {
    fn drop(&mut self) {
        self.routes.open.write().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(upstream: &str) -> (ProviderRoute, String) {
        ProviderRoute::new(upstream, Vec::new(), CallLabels::default()).unwrap()
    }

    #[test]
    fn path_of_the_provider_is_kept() {
        for (upstream, path, call, expected) in [
            (
                "http://h:1",
                "",
                "/v1/messages?beta=true",
                "http://h:1/v1/messages?beta=true",
            ),
            (
                "http://h:1/v1/",
                "/v1",
                "/v1/responses",
                "http://h:1/v1/responses",
            ),
            (
                "https://h/x/v1",
                "/x/v1",
                "/x/v1/models",
                "https://h/x/v1/models",
            ),
            ("https://h/x/v1", "/x/v1", "/x/props", "https://h/x/props"),
            (
                "https://h/v1beta/openai",
                "/v1beta/openai",
                "/v1beta/openai/chat/completions",
                "https://h/v1beta/openai/chat/completions",
            ),
        ] {
            let (route, found) = route(upstream);
            assert_eq!(found, path, "{upstream}");
            assert_eq!(route.url(call).as_deref(), Some(expected));
        }
        assert_eq!(
            route("https://api.example:8443/v1").0.labels.account,
            "api.example:8443"
        );
        assert_eq!(
            route("https://api.example/v1").0.labels.account,
            "api.example"
        );
    }

    #[test]
    fn p19_accounts_differ_by_their_keys_without_containing_them() {
        let account = |key: &str| {
            let keys = vec![(SecretString::from("token"), Some(SecretString::from(key)))];
            let route = ProviderRoute::new("https://h", keys, CallLabels::default());
            route.unwrap().0.labels.account
        };
        assert_eq!(account("key-1"), account("key-1"));
        assert_ne!(account("key-1"), account("key-2"));
        let name = account("key-1");
        assert!(name.starts_with("h#") && name.len() == 8, "{name}");
    }

    #[test]
    fn p16_path_outside_of_the_base_is_refused() {
        let (route, _) = route("https://h/x/v1");
        for path in [
            "/",
            "/y",
            "/xy/v1",
            "/x/../y",
            "/x/%2e%2E/y",
            "/x/v1/..%2fy",
            "/x/..\\y",
            "/x/%2e./y",
            "/x/./y",
        ] {
            assert_eq!(route.url(path), None, "{path}");
        }
    }
}
