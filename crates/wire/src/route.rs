//! Detection of the API by the request path.

use crate::{Dialect, Framing, ModelRequest, ResponseStyle};

/// The information in the path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The API.
    pub dialect: Dialect,
    /// The model, if the path contains it. Only Gemini's does.
    pub model: Option<String>,
    /// Whether the response is streamed, if the path specifies it. Only Gemini's does.
    pub stream: Option<bool>,
    /// The framing of a streamed response.
    pub framing: Framing,
}

impl Route {
    /// Parses a path with its query. Only the end of the path counts, so any base URL works.
    ///
    /// Returns `None` for other endpoints, such as model lists and token counts.
    pub fn parse(path_and_query: &str) -> Option<Self> {
        let (path, query) = path_and_query
            .split_once('?')
            .unwrap_or((path_and_query, ""));
        let path = path.trim_end_matches('/');
        if let Some((model, method)) = gemini(path) {
            let sse = query.split('&').any(|pair| pair == "alt=sse");
            return Some(Self {
                dialect: Dialect::Gemini,
                model: Some(model.to_owned()),
                stream: Some(method == "streamGenerateContent"),
                framing: if sse { Framing::Sse } else { Framing::Array },
            });
        }
        let dialect = [
            ("/chat/completions", Dialect::Chat),
            ("/responses", Dialect::Responses),
            ("/messages", Dialect::Messages),
            ("/api/chat", Dialect::Ollama),
        ];
        let (_, dialect) = dialect.into_iter().find(|(end, _)| path.ends_with(end))?;
        Some(Self::for_dialect(dialect))
    }

    /// Creates the route for an API with a path that contains no further information.
    pub fn for_dialect(dialect: Dialect) -> Self {
        Self {
            dialect,
            model: None,
            stream: None,
            framing: dialect.framing(),
        }
    }

    /// Returns the style for the response to a request on this route.
    pub fn style(&self, request: &ModelRequest, created: u64) -> ResponseStyle {
        ResponseStyle {
            created,
            stream_usage: request.stream_usage,
            framing: self.framing,
        }
    }
}

/// Splits `…/models/MODEL:METHOD` into model and method.
fn gemini(path: &str) -> Option<(&str, &str)> {
    let (before, method) = path.rsplit_once(':')?;
    let (_, model) = before.rsplit_once("odels/")?;
    let known = matches!(method, "generateContent" | "streamGenerateContent");
    (known && !model.is_empty()).then_some((model, method))
}
