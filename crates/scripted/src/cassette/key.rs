//! Matching of requests with recorded ones.

use windlass_cassette::{Exchange, Normalizer, Substitutions, strip_placeholder_numbers};
use windlass_wire::{Dialect, ModelRequest, Route};

use crate::intent::OfferedTools;
use crate::request_features::request_features;
use crate::workdir::AgentWorkdir;

/// The part of a request that identifies it in a recording.
///
/// Agents put the date, program versions and other changing values into their system prompts. So two
/// completion requests are the same if they have the same new text at the same turn of the conversation;
/// other requests are the same if method and path are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestKey {
    /// A completion request.
    Completion {
        dialect: Dialect,
        turn: usize,
        text: String,
    },
    /// Another request.
    Plain { method: String, path: String },
}

impl RequestKey {
    /// Creates the key of a received request.
    pub(super) fn from_request(method: &str, target: &str, body: &[u8]) -> Self {
        let route = Route::parse(target).filter(|_| method == "POST");
        let completion = route.and_then(|route| {
            let request = route.parse_request(body).ok()?;
            let features = request_features(&request, &OfferedTools::new(&request, None));
            let substitutions = substitutions(&request);
            let text = Normalizer::new(&substitutions).normalize_text(&features.new_text);
            Some(Self::Completion {
                dialect: route.dialect,
                turn: features.turn,
                text: strip_placeholder_numbers(&text).into_owned(),
            })
        });
        completion.unwrap_or_else(|| Self::Plain {
            method: method.to_owned(),
            path: target.to_owned(),
        })
    }

    /// Creates the key of a recorded request.
    pub(super) fn from_exchange(exchange: &Exchange) -> Self {
        Self::from_request(
            &exchange.method,
            &exchange.path,
            exchange.body.to_string().as_bytes(),
        )
    }

    /// Returns the new text of a completion request that is not the first of its conversation.
    pub(super) fn follow_up_text(&self) -> Option<&str> {
        match self {
            Self::Completion { turn, text, .. } if *turn > 1 => Some(text),
            _ => None,
        }
    }

    /// Returns `true` if the other is a completion request at the same turn of a conversation.
    pub(super) fn is_same_turn(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Completion { dialect, turn, .. },
                Self::Completion {
                    dialect: other_dialect,
                    turn: other_turn,
                    ..
                },
            ) => dialect == other_dialect && turn == other_turn,
            _ => false,
        }
    }

    /// Returns a description for error messages.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Completion { turn, text, .. } => format!("turn {turn}: {text}"),
            Self::Plain { method, path } => format!("{method} {path}"),
        }
    }
}

/// Returns the agent's working directory as a substitution, if the request contains it. A recorded request
/// has the placeholder instead.
fn substitutions(request: &ModelRequest) -> Substitutions {
    match AgentWorkdir::from_request(request, None).dir() {
        Some(dir) => Substitutions::new().workspace(dir),
        None => Substitutions::new(),
    }
}
