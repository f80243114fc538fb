//! Which API a request speaks, seen from its path.

use crate::{Dialect, Framing, ModelRequest, ResponseStyle};

/// What the path of a request says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The API.
    pub dialect: Dialect,
    /// The model, where the path names it: only Gemini's does.
    pub model: Option<String>,
    /// Whether the answer is streamed, where the path says so: only Gemini's does.
    pub stream: Option<bool>,
    /// How a streamed answer is framed.
    pub framing: Framing,
}

impl Route {
    /// Reads a path with its query. Only the end of the path counts, so any base address will do.
    ///
    /// Addresses beside the conversation (lists of models, token counts) belong to nobody here and give `None`.
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

    /// The route of an API whose path says nothing more.
    pub fn for_dialect(dialect: Dialect) -> Self {
        Self {
            dialect,
            model: None,
            stream: None,
            framing: dialect.framing(),
        }
    }

    /// How to answer a request that came this way.
    pub fn style(&self, request: &ModelRequest, created: u64) -> ResponseStyle {
        ResponseStyle {
            created,
            stream_usage: request.stream_usage,
            framing: self.framing,
        }
    }
}

/// Model and method of `…/models/MODEL:METHOD`.
fn gemini(path: &str) -> Option<(&str, &str)> {
    let (before, method) = path.rsplit_once(':')?;
    let (_, model) = before.rsplit_once("odels/")?;
    let known = matches!(method, "generateContent" | "streamGenerateContent");
    (known && !model.is_empty()).then_some((model, method))
}
