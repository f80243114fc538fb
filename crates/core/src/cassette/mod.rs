//! Cassettes: what an agent or a model said, written down so that it can be said again elsewhere.
//!
//! A cassette is a text of JSON lines. The first names the version; a `turn` line is followed by its
//! `event` lines, a `request` line by its `response` and its `chunk` lines:
//!
//! ```text
//! {"cassette":1}
//! {"type":"turn","session":"{id:1}","options":{"cwd":"{workspace}"},"prompt":"List the files."}
//! {"type":"event","at":0,"event":{"type":"Text","text":"There is {workspace}/a.txt."}}
//! {"type":"event","at":120,"event":{"type":"Result","text":"Done.","usage":null,"metadata":null}}
//! {"type":"request","dialect":"chat","method":"POST","path":"/v1/chat/completions","body":{"model":"m"}}
//! {"type":"response","status":200,"headers":{"content-type":"text/event-stream"}}
//! {"type":"chunk","at":3,"text":"data: [DONE]\n\n"}
//! ```
//!
//! Nothing in it belongs to one machine or one day: times are offsets in milliseconds, and a [`Normaliser`]
//! puts placeholders in the place of paths, ports, ids and secrets. Whoever plays a cassette puts the paths
//! of the new machine back with [`Places::restore`].
//!
//! | placeholder | stands for |
//! |---|---|
//! | `{workspace}` `{home}` `{tmp}` `{executable}` | a path, see [`Place`] |
//! | `{home:percent}` `{home:slashed}` | the same, spelt `%2Fhome%2Fme`, `\/home\/me` |
//! | `{workspace:dashed}` | the same as a file's name, `-home-me-work` |
//! | `{port:1}` | the first port of a loopback address |
//! | `{id:1}` | the first id: of a session, a tool, a turn, or one that looks like an id |
//! | `{secret:NAME}`, `{secret}` | a secret that was told, one that looks like a key |
//!
//! A text that spells a placeholder itself cannot be told from a recorded one.
//!
//! Fields that a reader does not know are ignored; another version is not read at all. This module is pure:
//! it turns text into values and back, and opens no file.

mod encodings;
mod entry;
mod error;
mod finders;
mod line;
mod needles;
mod normalize;
mod numbering;
mod patterns;
mod placeholder;
mod read;
mod rewrite;
mod substitutions;
mod visit;
mod write;

#[cfg(test)]
mod tests;

pub use entry::{Cassette, Chunk, Entry, Exchange, Interaction, RecordedOptions, TimedEvent};
pub use error::CassetteError;
pub use normalize::Normalizer;
pub use placeholder::strip_placeholder_numbers;
pub use substitutions::{LocalPath, Substitutions};

/// The version that is written, and the only one that is read.
pub const VERSION: u64 = 1;
/// The longest line.
pub const LINE_BYTES: usize = crate::limits::PROTOCOL_LINE_BYTES;
/// The longest cassette.
pub const FILE_BYTES: usize = 64 << 20;
