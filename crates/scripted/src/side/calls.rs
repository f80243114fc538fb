//! Model requests that an agent makes for its own use, recognized by their content.

use memchr::memmem;
use windlass_wire::{Message, ModelRequest, OutputFormat, Part, Role};

/// A known side call: how to recognize it, and its answer.
#[derive(Debug)]
pub(crate) struct SideCall {
    /// The agent and the purpose.
    pub(crate) name: &'static str,
    pattern: SideCallPattern,
    /// The answer.
    pub(crate) reply: SideReply,
}

/// What identifies a side call.
#[derive(Debug)]
enum SideCallPattern {
    /// The instructions contain this text.
    InstructionsContain(&'static str),
    /// The schema for the answer has this property.
    SchemaHasProperty(&'static str),
    /// The prompt is exactly this text.
    PromptIs(&'static str),
    /// The prompt starts with this text.
    PromptStartsWith(&'static str),
}

/// The answer to a side call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SideReply {
    /// Text.
    Text(&'static str),
    /// A JSON object.
    Json(&'static str),
}

/// All known side calls. The patterns are taken from the agents' requests or programs.
static SIDE_CALLS: [SideCall; 16] = [
    SideCall {
        name: "claude: quota probe",
        pattern: SideCallPattern::PromptIs("quota"),
        reply: SideReply::Text("ok"),
    },
    SideCall {
        name: "claude: topic",
        pattern: SideCallPattern::InstructionsContain("isNewTopic"),
        reply: SideReply::Json(r#"{"isNewTopic":false,"title":null}"#),
    },
    SideCall {
        name: "claude: session title",
        pattern: SideCallPattern::InstructionsContain(r#"Return JSON with a single "title" field"#),
        reply: SideReply::Json(r#"{"title":"Scripted session"}"#),
    },
    SideCall {
        name: "claude-agent-acp: next prompt",
        pattern: SideCallPattern::PromptStartsWith("[SUGGESTION MODE:"),
        reply: SideReply::Text("Run the tests"),
    },
    SideCall {
        name: "codex-acp: title",
        pattern: SideCallPattern::PromptStartsWith(
            "Your task is to generate a very short title for a conversation",
        ),
        reply: SideReply::Json(r#"{"title":"Scripted session"}"#),
    },
    SideCall {
        name: "codex: title",
        pattern: SideCallPattern::PromptStartsWith(
            "Generate a concise, single-line task title of at most",
        ),
        reply: SideReply::Text("Scripted session"),
    },
    SideCall {
        name: "codex: auto-review",
        pattern: SideCallPattern::InstructionsContain(
            "You are judging one planned coding-agent action",
        ),
        reply: SideReply::Json(r#"{"outcome":"allow"}"#),
    },
    SideCall {
        name: "gemini: model router",
        pattern: SideCallPattern::SchemaHasProperty("complexity_score"),
        reply: SideReply::Json(r#"{"complexity_reasoning":"scripted","complexity_score":50}"#),
    },
    SideCall {
        name: "gemini: model choice",
        pattern: SideCallPattern::SchemaHasProperty("model_choice"),
        reply: SideReply::Json(r#"{"reasoning":"scripted","model_choice":"flash"}"#),
    },
    SideCall {
        name: "gemini: next speaker",
        pattern: SideCallPattern::SchemaHasProperty("next_speaker"),
        reply: SideReply::Json(r#"{"reasoning":"scripted","next_speaker":"user"}"#),
    },
    SideCall {
        name: "gemini: loop check",
        pattern: SideCallPattern::SchemaHasProperty("unproductive_state_confidence"),
        reply: SideReply::Json(
            r#"{"unproductive_state_analysis":"scripted","unproductive_state_confidence":0}"#,
        ),
    },
    SideCall {
        name: "gemini: session summary",
        pattern: SideCallPattern::InstructionsContain("Summarize the user's primary intent"),
        reply: SideReply::Text("Scripted session"),
    },
    SideCall {
        name: "opencode: title",
        pattern: SideCallPattern::InstructionsContain("You are a title generator"),
        reply: SideReply::Text("Scripted session"),
    },
    SideCall {
        name: "vibe: title",
        pattern: SideCallPattern::InstructionsContain(
            "You write short, descriptive titles for coding-agent sessions",
        ),
        reply: SideReply::Text("Scripted session"),
    },
    SideCall {
        name: "qwen: memory",
        pattern: SideCallPattern::InstructionsContain("managed memory extraction subagent"),
        reply: SideReply::Text("Nothing to remember."),
    },
    SideCall {
        name: "qwen: security classifier",
        pattern: SideCallPattern::InstructionsContain(
            "You are a security classifier for an AI coding agent",
        ),
        reply: SideReply::Json(r#"{"shouldBlock":false,"reason":"scripted"}"#),
    },
];

/// Returns the side call that this request is, if any.
pub(crate) fn side_call(request: &ModelRequest) -> Option<&'static SideCall> {
    SIDE_CALLS.iter().find(|call| call.pattern.matches(request))
}

impl SideCallPattern {
    fn matches(&self, request: &ModelRequest) -> bool {
        match self {
            Self::InstructionsContain(text) => instructions_contain(request, text),
            Self::SchemaHasProperty(property) => schema_has_property(request, property),
            Self::PromptIs(prompt) => {
                request.messages.len() == 1
                    && request.tools.is_empty()
                    && request.last_user_text() == *prompt
                    && request.max_tokens == Some(1)
            }
            Self::PromptStartsWith(text) => request.last_user_text().starts_with(text),
        }
    }
}

/// Returns `true` if the instructions or system messages, not the user's, contain a text. Instructions are
/// long, and each is searched for every pattern.
fn instructions_contain(request: &ModelRequest, pattern: &str) -> bool {
    let operator = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let messages = request.messages.iter().filter(operator);
    let texts = messages
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
    let pattern = memmem::Finder::new(pattern);
    let mut texts = request.instructions.iter().chain(texts);
    texts.any(|text| pattern.find(text.text.as_bytes()).is_some())
}

fn schema_has_property(request: &ModelRequest, property: &str) -> bool {
    let OutputFormat::JsonSchema(format) = &request.output else {
        return false;
    };
    let properties = format.schema.get("properties");
    properties.is_some_and(|properties| properties.get(property).is_some())
}
