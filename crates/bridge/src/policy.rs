//! What calls may ask for.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use windlass_core::Masker;

use crate::request_facts::RequestFacts;

/// The beginnings of the types of tools that a provider runs itself.
const PROVIDER_TYPES: [&str; 7] = [
    "code_execution",
    "code_interpreter",
    "file_search",
    "image_generation",
    "mcp",
    "web_fetch",
    "web_search",
];
/// Tools that Google runs itself, without their underscores.
const GOOGLE_TOOLS: [&str; 6] = [
    "codeexecution",
    "filesearch",
    "googlemaps",
    "googlesearch",
    "googlesearchretrieval",
    "urlcontext",
];

/// What calls may ask for.
#[derive(Debug, Clone, Default)]
pub struct CallPolicy {
    /// The models that may be called; all if there is none. `*` stands for any part of a name.
    pub models: Vec<String>,
    /// The longest answer, in tokens.
    pub max_output_tokens: Option<u64>,
    /// Whether tools that the provider runs itself are refused.
    pub refuses_provider_tools: bool,
    /// Replaces secrets in requests.
    pub masker: Option<Masker>,
}

#[derive(Deserialize)]
struct ToolsJson {
    #[serde(default)]
    tools: Vec<Value>,
    web_search_options: Option<Value>,
    mcp_servers: Option<Vec<Value>>,
}

impl CallPolicy {
    /// Returns why a call may not be sent.
    pub(crate) fn refuse(&self, request: &RequestFacts, body: &[u8]) -> Option<String> {
        let model = request.model.as_deref();
        if !self.models.is_empty() {
            let is_allowed = |model| self.models.iter().any(|allowed| matches(allowed, model));
            if !model.is_some_and(is_allowed) {
                let model = model.unwrap_or("an unknown model");
                return Some(format!("{model} is not in policy.models"));
            }
        }
        if let Some(limit) = self.max_output_tokens {
            let asked = request
                .max_output
                .map(|most| most.saturating_mul(request.answers));
            if asked.is_none_or(|asked| asked > limit) {
                let asked = asked.map_or("no limit".to_owned(), |asked| format!("{asked} tokens"));
                return Some(format!(
                    "the answer may have {asked}, and policy.max_output_tokens is {limit}"
                ));
            }
        }
        if self.refuses_provider_tools {
            let tool = provider_tool(body)?;
            return Some(format!(
                "the provider would run {tool} itself, and policy.provider_tools is false"
            ));
        }
        None
    }

    /// Returns the request without known secrets.
    pub(crate) fn mask(&self, body: Bytes) -> Bytes {
        let masked = self.masker.as_ref().and_then(|masker| masker.bytes(&body));
        masked.map_or(body, Bytes::from)
    }
}

/// Returns the first tool of a request that the provider runs itself. A request that cannot be read has an unknown one.
fn provider_tool(body: &[u8]) -> Option<String> {
    let Ok(request) = serde_json::from_slice::<ToolsJson>(body) else {
        return Some("an unknown tool".to_owned());
    };
    if request.web_search_options.is_some() {
        return Some("web_search".to_owned());
    }
    if request
        .mcp_servers
        .is_some_and(|servers| !servers.is_empty())
    {
        return Some("mcp".to_owned());
    }
    request.tools.iter().find_map(|tool| {
        let kind = tool.get("type").and_then(Value::as_str);
        let by_type = kind.filter(|kind| PROVIDER_TYPES.iter().any(|one| kind.starts_with(one)));
        let mut keys = tool.as_object().into_iter().flat_map(|tool| tool.keys());
        let is_google = |key: &&String| {
            let plain = key.replace('_', "").to_ascii_lowercase();
            GOOGLE_TOOLS.contains(&plain.as_str())
        };
        by_type
            .map(str::to_owned)
            .or_else(|| keys.find(is_google).cloned())
    })
}

/// Returns `true` if a name has the form of a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use windlass_core::SecretString;

    use super::*;

    fn refuse(policy: &CallPolicy, body: &str) -> Option<String> {
        let facts = RequestFacts::read("/v1/responses", body.as_bytes());
        policy.refuse(&facts, body.as_bytes())
    }

    #[test]
    fn only_allowed_models_are_called() {
        let policy = CallPolicy {
            models: vec!["gpt-5".to_owned(), "claude-*-4*".to_owned()],
            ..CallPolicy::default()
        };
        for model in ["gpt-5", "claude-sonnet-4-5", "claude--4"] {
            let body = format!(r#"{{"model":"{model}"}}"#);
            assert_eq!(refuse(&policy, &body), None, "{model}");
        }
        for body in [
            r#"{"model":"gpt-5-pro"}"#,
            r#"{"model":"claude-3"}"#,
            r#"{"model":"claude-4"}"#,
            r#"{"model":"x","model":"gpt-5"}"#,
            "{}",
            "",
        ] {
            assert!(refuse(&policy, body).is_some(), "{body}");
        }
    }

    #[test]
    fn long_answers_are_refused() {
        let policy = CallPolicy {
            max_output_tokens: Some(100),
            ..CallPolicy::default()
        };
        for (body, is_refused) in [
            (r#"{"max_output_tokens":100}"#, false),
            (r#"{"max_output_tokens":101}"#, true),
            (r#"{"max_output_tokens":10,"max_tokens":101}"#, true),
            (r#"{"max_output_tokens":60,"n":2}"#, true),
            ("{}", true),
        ] {
            assert_eq!(refuse(&policy, body).is_some(), is_refused, "{body}");
        }
    }

    #[test]
    fn tools_of_the_provider_are_refused() {
        let policy = CallPolicy {
            refuses_provider_tools: true,
            ..CallPolicy::default()
        };
        for body in [
            r#"{"tools":[{"type":"function","name":"web_search"},{"type":"local_shell"}]}"#,
            r#"{"tools":[{"name":"Bash","input_schema":{}},{"type":"bash_20250124"}]}"#,
            r#"{"tools":[{"functionDeclarations":[{"name":"googleSearch"}]}]}"#,
            "{}",
        ] {
            assert_eq!(refuse(&policy, body), None, "{body}");
        }
        for body in [
            r#"{"tools":[{"type":"function"},{"type":"web_search_preview"}]}"#,
            r#"{"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#,
            r#"{"tools":[{"type":"code_interpreter","container":{}}]}"#,
            r#"{"tools":[{"type":"mcp","server_url":"http://h"}]}"#,
            r#"{"tools":[{"googleSearch":{}}]}"#,
            r#"{"tools":[{"code_execution":{}}]}"#,
            r#"{"web_search_options":{}}"#,
            r#"{"mcp_servers":[{"url":"http://h"}]}"#,
            r#"{"tools":[],"tools":[{"type":"web_search"}]}"#,
            "not JSON",
        ] {
            assert!(refuse(&policy, body).is_some(), "{body}");
        }
    }

    #[test]
    fn p19_known_secrets_are_replaced() {
        let secret = SecretString::from("sk-canary-0123456789");
        let policy = CallPolicy {
            masker: Some(Masker::new([("KEY".to_owned(), secret)])),
            ..CallPolicy::default()
        };
        let body = Bytes::from_static(b"{\"text\":\"my key is sk-canary-0123456789\"}");
        let masked = policy.mask(body);
        assert!(!String::from_utf8_lossy(&masked).contains("canary"));
        let plain = Bytes::from_static(b"{\"text\":  1}");
        assert_eq!(policy.mask(plain.clone()), plain);
    }
}
