//! Replaces the agent's token by the provider's key, in the places where model APIs expect a key.

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use subtle::ConstantTimeEq;
use windlass_core::{ExposeSecret, SecretString};

use crate::route::ProviderRoute;

/// Headers with a key, besides `Authorization`.
const KEY_HEADERS: [HeaderName; 3] = [
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("api-key"),
];
/// The query parameter with a key.
const KEY_PARAMETER: &str = "key=";

/// Replaces the tokens of a request by the keys of its route. Returns `false` if the request has none although the route
/// has a key, or if a key cannot be sent.
pub(crate) fn substitute(route: &ProviderRoute, headers: &mut HeaderMap, url: &mut String) -> bool {
    let mut is_known = false;
    let names = std::iter::once(AUTHORIZATION).chain(KEY_HEADERS);
    for name in names {
        let Some(value) = headers.get(&name).and_then(|value| value.to_str().ok()) else {
            continue;
        };
        let (scheme, token) = match value.split_once(' ') {
            Some((scheme, token)) if name == AUTHORIZATION => (Some(scheme), token.trim()),
            _ => (None, value),
        };
        let Some(key) = key_for(route, token) else {
            continue;
        };
        is_known = true;
        let Some(key) = key else {
            headers.remove(&name);
            continue;
        };
        let key = key.expose_secret();
        let value = match scheme {
            Some(scheme) => HeaderValue::from_str(&format!("{scheme} {key}")),
            None => HeaderValue::from_str(key),
        };
        let Ok(mut value) = value else {
            return false;
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    if let Some((path, query)) = url.split_once('?') {
        let mut found = false;
        let replaced: Vec<String> = query
            .split('&')
            .filter_map(|pair| {
                let token = pair.strip_prefix(KEY_PARAMETER);
                match token.and_then(|token| key_for(route, token)) {
                    None => Some(pair.to_owned()),
                    Some(key) => {
                        found = true;
                        key.map(|key| format!("{KEY_PARAMETER}{}", encoded(key.expose_secret())))
                    }
                }
            })
            .collect();
        if found {
            is_known = true;
            let query = replaced.join("&");
            *url = if query.is_empty() {
                path.to_owned()
            } else {
                format!("{path}?{query}")
            };
        }
    }
    is_known || route.keys.iter().all(|(_, key)| key.is_none())
}

/// Returns a path and its query without the parameter that can have a token.
pub(crate) fn path_without_key(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let pairs = query.split('&');
    let pairs: Vec<&str> = pairs
        .filter(|pair| !pair.starts_with(KEY_PARAMETER))
        .collect();
    if pairs.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", pairs.join("&"))
    }
}

/// Returns the key that replaces a token: `Some(None)` if the provider needs none, `None` if it is not a token.
fn key_for<'r>(route: &'r ProviderRoute, token: &str) -> Option<Option<&'r SecretString>> {
    let is_token = |expected: &SecretString| -> bool {
        expected
            .expose_secret()
            .as_bytes()
            .ct_eq(token.as_bytes())
            .into()
    };
    let found = route.keys.iter().find(|(expected, _)| is_token(expected))?;
    Some(found.1.as_ref())
}

/// Returns a value for a query.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

/// Returns the text without the keys of a route, which a provider may repeat in an error.
pub(crate) fn without_keys(route: &ProviderRoute, mut bytes: Vec<u8>) -> Vec<u8> {
    /// Shorter keys are no secrets, and replacing them would damage ordinary text.
    const MIN_KEY_BYTES: usize = 6;
    let keys = route.keys.iter().filter_map(|(_, key)| key.as_ref());
    for key in keys.filter(|key| key.expose_secret().len() >= MIN_KEY_BYTES) {
        let key = key.expose_secret();
        let text = String::from_utf8_lossy(&bytes);
        if text.contains(key) {
            bytes = text.replace(key, "[key]").into_bytes();
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use windlass_tasks::CallLabels;

    use super::*;

    fn route(keys: &[(&str, Option<&str>)]) -> ProviderRoute {
        let keys = keys.iter().map(|(token, key)| {
            let key = key.map(SecretString::from);
            (SecretString::from(*token), key)
        });
        let labels = CallLabels::default();
        ProviderRoute::new("http://h", keys.collect(), labels)
            .unwrap()
            .0
    }

    #[track_caller]
    fn check(
        route: &ProviderRoute,
        header: Option<(&'static str, &str)>,
        url: &str,
    ) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, value.parse().unwrap());
        }
        let mut url = url.to_owned();
        let is_allowed = substitute(route, &mut headers, &mut url);
        let value = headers.values().next().map(|value| value.to_str().unwrap());
        is_allowed.then(|| format!("{} {url}", value.unwrap_or("-")))
    }

    #[test]
    fn p18_token_is_replaced_where_the_agent_put_it() {
        let route = route(&[("token-1", Some("key 1")), ("token-2", Some("key-2"))]);
        let check = |header, url| check(&route, header, url);
        for (name, value, expected) in [
            ("authorization", "Bearer token-1", "Bearer key 1 /a"),
            ("x-api-key", "token-2", "key-2 /a"),
            ("x-goog-api-key", "token-1", "key 1 /a"),
            ("api-key", "token-1", "key 1 /a"),
        ] {
            assert_eq!(check(Some((name, value)), "/a").as_deref(), Some(expected));
        }
        assert_eq!(
            check(None, "/a?alt=sse&key=token-1").as_deref(),
            Some("- /a?alt=sse&key=key%201")
        );
        for (header, url) in [
            (None, "/a"),
            (Some(("authorization", "Bearer token-")), "/a"),
            (Some(("authorization", "Bearer token-12")), "/a"),
            (Some(("x-other", "token-1")), "/a"),
            (None, "/a?key=token-11"),
            (None, "/a?other=token-1"),
        ] {
            assert_eq!(check(header, url), None, "{header:?} {url}");
        }
    }

    #[test]
    fn provider_without_a_key_gets_no_token() {
        let route = route(&[("token-1", None)]);
        let header = Some(("authorization", "Bearer token-1"));
        assert_eq!(
            check(&route, header, "/a?key=token-1").as_deref(),
            Some("- /a")
        );
        assert_eq!(check(&route, None, "/a").as_deref(), Some("- /a"));
    }

    #[test]
    fn p19_key_is_removed_from_an_error() {
        let route = route(&[("token-1", Some("canary-key"))]);
        let text = without_keys(&route, b"bad key: canary-key!".to_vec());
        assert_eq!(text, b"bad key: [key]!");
    }
}
