//! What the bridge must know about a request: the model, and the most tokens of its answer.

use serde::Deserialize;
use windlass_wire::{Dialect, Route};

/// The API of a call and what its request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFacts {
    /// `None` for a call that is not of a known API.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) model: Option<String>,
    /// The limit of the answer, if the request has one.
    pub(crate) max_output: Option<u64>,
    /// The number of answers.
    pub(crate) answers: u64,
    /// The length of the request. A token has at least one byte, so the input has no more tokens.
    pub(crate) bytes: u64,
}

#[derive(Deserialize)]
struct RequestJson {
    model: Option<String>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    #[serde(rename = "generationConfig")]
    generation_config: Option<GenerationConfig>,
    options: Option<OllamaOptions>,
    /// How many answers are wanted.
    n: Option<u64>,
}

#[derive(Deserialize)]
struct GenerationConfig {
    #[serde(rename = "maxOutputTokens")]
    max_output_tokens: Option<u64>,
    #[serde(rename = "candidateCount")]
    candidate_count: Option<u64>,
}

#[derive(Deserialize)]
struct OllamaOptions {
    num_predict: Option<i64>,
}

impl RequestJson {
    /// Returns the longest answer that the request allows. Which of several limits a provider uses is not known.
    fn max_output(&self) -> Option<u64> {
        let gemini = self.generation_config.as_ref();
        let ollama = self.options.as_ref();
        [
            self.max_completion_tokens,
            self.max_output_tokens,
            self.max_tokens,
            gemini.and_then(|config| config.max_output_tokens),
            ollama.and_then(|options| u64::try_from(options.num_predict?).ok()),
        ]
        .into_iter()
        .flatten()
        .max()
    }

    fn answers(&self) -> u64 {
        let gemini = self.generation_config.as_ref();
        let gemini = gemini.and_then(|config| config.candidate_count);
        [self.n, gemini, Some(1)]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(1)
    }
}

impl RequestFacts {
    /// Reads the path with its query and the body.
    pub(crate) fn read(path: &str, body: &[u8]) -> Self {
        let route = Route::parse(path);
        let json: Option<RequestJson> = serde_json::from_slice(body).ok();
        let max_output = json.as_ref().and_then(RequestJson::max_output);
        let answers = json.as_ref().map_or(1, RequestJson::answers);
        let in_path = route.as_ref().and_then(|route| route.model.clone());
        Self {
            dialect: route.map(|route| route.dialect),
            model: in_path.or(json.and_then(|json| json.model)),
            max_output,
            answers,
            bytes: body.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_and_limit_are_read_in_every_dialect() {
        for (path, body, dialect) in [
            (
                "/v1/chat/completions",
                r#"{"model":"m","max_completion_tokens":7,"x":[1]}"#,
                Dialect::Chat,
            ),
            (
                "/v1/responses",
                r#"{"model":"m","max_output_tokens":7}"#,
                Dialect::Responses,
            ),
            (
                "/v1/messages?beta=true",
                r#"{"model":"m","max_tokens":7}"#,
                Dialect::Messages,
            ),
            (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                r#"{"generationConfig":{"maxOutputTokens":7}}"#,
                Dialect::Gemini,
            ),
            (
                "/api/chat",
                r#"{"model":"m","options":{"num_predict":7}}"#,
                Dialect::Ollama,
            ),
        ] {
            let facts = RequestFacts::read(path, body.as_bytes());
            assert_eq!(facts.dialect, Some(dialect), "{path}");
            assert_eq!(facts.model.as_deref(), Some("m"), "{path}");
            assert_eq!(facts.max_output, Some(7), "{path}");
        }
    }

    #[test]
    fn largest_limit_and_all_answers_count() {
        let facts = |body: &str| RequestFacts::read("/v1/chat/completions", body.as_bytes());
        let both = facts(r#"{"max_completion_tokens":7,"max_tokens":9000}"#);
        assert_eq!(both.max_output, Some(9000));
        assert_eq!(both.answers, 1);
        assert_eq!(facts(r#"{"n":5}"#).answers, 5);
        let gemini = facts(r#"{"generationConfig":{"candidateCount":3}}"#);
        assert_eq!(gemini.answers, 3);
    }

    #[test]
    fn unknown_requests_have_no_facts() {
        for body in ["", "{", "[]", "{\"model\":7}", "{\"max_tokens\":-1}"] {
            let facts = RequestFacts::read("/v1/models", body.as_bytes());
            assert_eq!(
                (facts.dialect, facts.model, facts.max_output),
                (None, None, None)
            );
        }
    }
}
