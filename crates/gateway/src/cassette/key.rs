//! What makes two requests the same.

use windlass_core::cassette::{Exchange, Normalizer, Substitutions, strip_placeholder_numbers};
use windlass_wire::{Dialect, ModelRequest, Route};

use crate::intent::OfferedTools;
use crate::request_features::request_features;
use crate::workdir::AgentWorkdir;

/// A request as far as a recording looks at it.
///
/// Agents put the date, the versions of programs and much else into their system prompts. So a question to a model is the same
/// if the same is new in it at the same place of the conversation; anything else is the same if it asks for the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestKey {
    /// A question to a model.
    Question {
        dialect: Dialect,
        turn: usize,
        news: String,
    },
    /// Something else.
    Plain { method: String, path: String },
}

impl RequestKey {
    /// The key of a request that just came.
    pub(super) fn from_request(method: &str, target: &str, body: &[u8]) -> Self {
        let route = Route::parse(target).filter(|_| method == "POST");
        let question = route.and_then(|route| {
            let request = route.parse_request(body).ok()?;
            let asked = request_features(&request, &OfferedTools::new(&request, None));
            let places = substitutions(&request);
            let news = Normalizer::new(&places).normalize_text(&asked.news);
            Some(Self::Question {
                dialect: route.dialect,
                turn: asked.turn,
                news: strip_placeholder_numbers(&news).into_owned(),
            })
        });
        question.unwrap_or_else(|| Self::Plain {
            method: method.to_owned(),
            path: target.to_owned(),
        })
    }

    /// The key of a request that was recorded.
    pub(super) fn from_exchange(exchange: &Exchange) -> Self {
        Self::from_request(
            &exchange.method,
            &exchange.path,
            exchange.body.to_string().as_bytes(),
        )
    }

    /// What is new in a question that is not the first of its conversation.
    pub(super) fn follow_up_text(&self) -> Option<&str> {
        match self {
            Self::Question { turn, news, .. } if *turn > 1 => Some(news),
            _ => None,
        }
    }

    /// Whether the other is a question at the same place of a conversation.
    pub(super) fn is_same_turn(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Question { dialect, turn, .. },
                Self::Question {
                    dialect: its,
                    turn: at,
                    ..
                },
            ) => dialect == its && turn == at,
            _ => false,
        }
    }

    /// The words by which people tell it from others.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Question { turn, news, .. } => format!("question {turn}: {news}"),
            Self::Plain { method, path } => format!("{method} {path}"),
        }
    }
}

/// Where the asker works, as far as it says so; a recorded request speaks of it by its placeholder already.
fn substitutions(request: &ModelRequest) -> Substitutions {
    match AgentWorkdir::from_request(request, None).folder() {
        Some(folder) => Substitutions::new().workspace(folder),
        None => Substitutions::new(),
    }
}
