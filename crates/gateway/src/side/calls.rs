//! Model calls that an agent makes for itself, told by their shape.

use memchr::memmem;
use windlass_wire::{Message, ModelRequest, OutputFormat, Part, Role};

/// How a side call is known, and what it is told.
#[derive(Debug)]
pub(crate) struct SideCall {
    /// The agent and what it wants.
    pub(crate) name: &'static str,
    sign: SideCallPattern,
    /// The answer.
    pub(crate) reply: SideReply,
}

/// What gives a side call away.
#[derive(Debug)]
enum SideCallPattern {
    /// Its instructions say this.
    InstructionsContain(&'static str),
    /// Its schema for the answer has this property.
    SchemaHasProperty(&'static str),
    /// It is nothing but this word.
    PromptIs(&'static str),
}

/// What a side call is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SideReply {
    /// Words.
    Text(&'static str),
    /// An object, in JSON.
    Json(&'static str),
}

/// All that are known. The words are the agents' own, seen in their requests or in their programs.
static SIDE_CALLS: [SideCall; 12] = [
    SideCall {
        name: "claude: quota probe",
        sign: SideCallPattern::PromptIs("quota"),
        reply: SideReply::Text("ok"),
    },
    SideCall {
        name: "claude: topic",
        sign: SideCallPattern::InstructionsContain("isNewTopic"),
        reply: SideReply::Json(r#"{"isNewTopic":false,"title":null}"#),
    },
    SideCall {
        name: "claude: session title",
        sign: SideCallPattern::InstructionsContain(r#"Return JSON with a single "title" field"#),
        reply: SideReply::Json(r#"{"title":"Scripted session"}"#),
    },
    SideCall {
        name: "codex: auto-review",
        sign: SideCallPattern::InstructionsContain(
            "You are judging one planned coding-agent action",
        ),
        reply: SideReply::Json(r#"{"outcome":"allow"}"#),
    },
    SideCall {
        name: "gemini: model router",
        sign: SideCallPattern::SchemaHasProperty("complexity_score"),
        reply: SideReply::Json(r#"{"complexity_reasoning":"scripted","complexity_score":50}"#),
    },
    SideCall {
        name: "gemini: model choice",
        sign: SideCallPattern::SchemaHasProperty("model_choice"),
        reply: SideReply::Json(r#"{"reasoning":"scripted","model_choice":"flash"}"#),
    },
    SideCall {
        name: "gemini: next speaker",
        sign: SideCallPattern::SchemaHasProperty("next_speaker"),
        reply: SideReply::Json(r#"{"reasoning":"scripted","next_speaker":"user"}"#),
    },
    SideCall {
        name: "gemini: loop check",
        sign: SideCallPattern::SchemaHasProperty("unproductive_state_confidence"),
        reply: SideReply::Json(
            r#"{"unproductive_state_analysis":"scripted","unproductive_state_confidence":0}"#,
        ),
    },
    SideCall {
        name: "gemini: session summary",
        sign: SideCallPattern::InstructionsContain("Summarize the user's primary intent"),
        reply: SideReply::Text("Scripted session"),
    },
    SideCall {
        name: "opencode: title",
        sign: SideCallPattern::InstructionsContain("You are a title generator"),
        reply: SideReply::Text("Scripted session"),
    },
    SideCall {
        name: "qwen: memory",
        sign: SideCallPattern::InstructionsContain("managed memory extraction subagent"),
        reply: SideReply::Text("Nothing to remember."),
    },
    SideCall {
        name: "qwen: security classifier",
        sign: SideCallPattern::InstructionsContain(
            "You are a security classifier for an AI coding agent",
        ),
        reply: SideReply::Json(r#"{"shouldBlock":false,"reason":"scripted"}"#),
    },
];

/// The side call that this request is, if it is one.
pub(crate) fn side_call(request: &ModelRequest) -> Option<&'static SideCall> {
    SIDE_CALLS.iter().find(|call| call.sign.is_in(request))
}

impl SideCallPattern {
    fn is_in(&self, request: &ModelRequest) -> bool {
        match self {
            Self::InstructionsContain(words) => instructions_contain(request, words),
            Self::SchemaHasProperty(property) => schema_has_property(request, property),
            Self::PromptIs(word) => {
                request.messages.len() == 1
                    && request.tools.is_empty()
                    && request.last_user_text() == *word
                    && request.max_tokens == Some(1)
            }
        }
    }
}

/// Whether the operator, not the user, says this. Instructions are long, and each is searched for every sign.
fn instructions_contain(request: &ModelRequest, words: &str) -> bool {
    let operator = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let messages = request.messages.iter().filter(operator);
    let said = messages
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
    let words = memmem::Finder::new(words);
    let mut texts = request.instructions.iter().chain(said);
    texts.any(|text| words.find(text.text.as_bytes()).is_some())
}

fn schema_has_property(request: &ModelRequest, property: &str) -> bool {
    let OutputFormat::JsonSchema(format) = &request.output else {
        return false;
    };
    let properties = format.schema.get("properties");
    properties.is_some_and(|properties| properties.get(property).is_some())
}
