//! Cassettes: portable recordings of agent turns and model exchanges.
//!
//! A cassette is a text of JSON lines. The first line contains the version. A `turn` line is followed by
//! its `event` lines, a `request` line by its `response` line and its `chunk` lines:
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
//! A cassette contains nothing specific to a machine or a date: times are offsets in milliseconds, and a
//! [`Normalizer`] replaces paths, ports, ids and secrets by placeholders. A replay inserts the paths of the
//! current machine with [`Substitutions::restore`].
//!
//! | placeholder | meaning |
//! |---|---|
//! | `{workspace}` `{home}` `{tmp}` `{executable}` | a path, see [`LocalPath`] |
//! | `{home:percent}` `{home:slashed}` | the same, encoded as `%2Fhome%2Fme`, `\/home\/me` |
//! | `{workspace:dashed}` | the same as a file name, `-home-me-work` |
//! | `{port:1}` | the first port of a loopback address |
//! | `{id:1}` | the first id: of a session, a tool, a turn, or a text that matches the pattern of an id |
//! | `{secret:NAME}`, `{secret}` | a known secret, a text that matches the pattern of a key |
//!
//! A text that contains a placeholder literally cannot be distinguished from a recorded one.
//!
//! Unknown fields are ignored; other versions are rejected. This crate does no I/O: it converts text to
//! values and back.

mod encodings;
mod entry;
mod error;
mod exchange_builder;
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
pub use exchange_builder::ExchangeBuilder;
pub use normalize::Normalizer;
pub use placeholder::strip_placeholder_numbers;
pub use substitutions::{LocalPath, Substitutions};

/// The version that is written, and the only one that is read.
pub const VERSION: u64 = 1;
/// The maximum length of a line.
pub const LINE_BYTES: usize = windlass_core::limits::PROTOCOL_LINE_BYTES;
/// The maximum length of a cassette.
pub const FILE_BYTES: usize = 64 << 20;
