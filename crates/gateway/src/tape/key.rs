//! What makes two requests the same.

use windlass_core::cassette::{Exchange, Normaliser, Places, unnumbered};
use windlass_wire::{Dialect, ModelRequest, Route};

use crate::asked::asked;
use crate::intent::Toolbox;
use crate::workspace::Workspace;

/// A request as far as a recording looks at it.
///
/// Agents put the date, the versions of programs and much else into their system prompts. So a question to a model is the same
/// if the same is new in it at the same place of the conversation; anything else is the same if it asks for the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// A question to a model.
    Question {
        dialect: Dialect,
        turn: usize,
        news: String,
    },
    /// Something else.
    Plain { method: String, path: String },
}

impl Key {
    /// The key of a request that just came.
    pub(super) fn of(method: &str, target: &str, body: &[u8]) -> Self {
        let route = Route::of(target).filter(|_| method == "POST");
        let question = route.and_then(|route| {
            let request = route.parse_request(body).ok()?;
            let asked = asked(&request, &Toolbox::new(&request, None));
            let places = places(&request);
            let news = Normaliser::new(&places).text(&asked.news);
            Some(Self::Question {
                dialect: route.dialect,
                turn: asked.turn,
                news: unnumbered(&news).into_owned(),
            })
        });
        question.unwrap_or_else(|| Self::Plain {
            method: method.to_owned(),
            path: target.to_owned(),
        })
    }

    /// The key of a request that was recorded.
    pub(super) fn recorded(exchange: &Exchange) -> Self {
        Self::of(
            &exchange.method,
            &exchange.path,
            exchange.body.to_string().as_bytes(),
        )
    }

    /// What is new in a question that is not the first of its conversation.
    pub(super) fn later_words(&self) -> Option<&str> {
        match self {
            Self::Question { turn, news, .. } if *turn > 1 => Some(news),
            _ => None,
        }
    }

    /// Whether the other is a question at the same place of a conversation.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
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
    pub(super) fn words(&self) -> String {
        match self {
            Self::Question { turn, news, .. } => format!("question {turn}: {news}"),
            Self::Plain { method, path } => format!("{method} {path}"),
        }
    }
}

/// Where the asker works, as far as it says so; a recorded request speaks of it by its placeholder already.
fn places(request: &ModelRequest) -> Places {
    match Workspace::of(request, None).folder() {
        Some(folder) => Places::new().workspace(folder),
        None => Places::new(),
    }
}
