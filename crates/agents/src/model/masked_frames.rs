//! Masks known secrets in the frames of a relayed stream, also if a secret is split between frames. Frames without a secret
//! keep their bytes.

use std::collections::BTreeMap;

use windlass_core::Masker;
use windlass_core::mask::MaskedChunks;
use windlass_wire::{
    Dialect, FramePart, TextChannel, all_strings, ends_texts, frame_parts, replace_parts,
    split_frames,
};

/// Masks the frames of one response.
pub(super) struct MaskedFrames {
    dialect: Dialect,
    masker: Masker,
    /// Frames that are held back, because a text may be the beginning of a secret.
    held: Vec<HeldFrame>,
    open: BTreeMap<TextChannel, OpenText>,
}

struct HeldFrame {
    bytes: Vec<u8>,
    parts: Vec<FramePart>,
}

/// A text since the first held frame.
struct OpenText {
    chunks: MaskedChunks,
    /// As it arrived.
    raw: String,
    /// Masked, without what is held back.
    masked: String,
}

impl MaskedFrames {
    pub(super) fn new(dialect: Dialect, masker: Masker) -> Self {
        Self {
            dialect,
            masker,
            held: Vec::new(),
            open: BTreeMap::new(),
        }
    }

    /// Adds complete frames. Returns those that can be sent.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for frame in split_frames(self.dialect, bytes) {
            self.push_frame(frame, &mut out);
        }
        out
    }

    /// Returns the frames that are held back: the stream has ended.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.end(|_| true);
        self.release(&mut out);
        out
    }

    /// Returns `true` if no text is held back, and this frame neither has a secret nor may begin one. Most frames do not need to
    /// be parsed.
    fn is_clean(&self, frame: &[u8]) -> bool {
        self.held.is_empty()
            && self.open.is_empty()
            && self.masker.is_clean(frame)
            && all_strings(self.dialect, frame, |text| !self.masker.is_open(text))
    }

    fn push_frame(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        if self.is_clean(frame) {
            out.extend_from_slice(frame);
            return;
        }
        let parts = frame_parts(self.dialect, frame);
        // The parts of calls may be interleaved; text and reasoning end each other, and both end calls.
        let has_prose = parts.iter().any(|part| !part.channel.is_call);
        let continues = |channel: &TextChannel| parts.iter().any(|part| part.channel == *channel);
        if ends_texts(self.dialect, frame) && parts.is_empty() {
            self.end(|_| true);
        } else if !parts.is_empty() {
            self.end(|channel| !continues(channel) && (has_prose || !channel.is_call));
        }
        // What was ended before this frame must not wait for it.
        self.release_if_complete(out);
        for part in &parts {
            let masker = &self.masker;
            let open = self.open.entry(part.channel.clone());
            let open = open.or_insert_with(|| OpenText {
                chunks: MaskedChunks::new(masker.clone()),
                raw: String::new(),
                masked: String::new(),
            });
            open.raw.push_str(&part.text);
            open.masked.push_str(&open.chunks.push(&part.text));
        }
        self.held.push(HeldFrame {
            bytes: frame.to_vec(),
            parts,
        });
        self.release_if_complete(out);
    }

    /// Ends texts: what is held back of them is no beginning of a secret.
    fn end(&mut self, is_ended: impl Fn(&TextChannel) -> bool) {
        for (channel, open) in &mut self.open {
            if is_ended(channel) {
                open.masked.push_str(&open.chunks.finish());
            }
        }
    }

    fn release_if_complete(&mut self, out: &mut Vec<u8>) {
        if self.open.values().all(|open| open.chunks.is_empty()) {
            self.release(out);
        }
    }

    /// Sends the held frames. A text with a secret is sent with its first part, and the other parts are empty.
    fn release(&mut self, out: &mut Vec<u8>) {
        let mut changed = std::mem::take(&mut self.open);
        changed.retain(|_, open| open.raw != open.masked);
        for mut frame in std::mem::take(&mut self.held) {
            let mut is_changed = false;
            for part in &mut frame.parts {
                if let Some(open) = changed.get_mut(&part.channel) {
                    part.text = std::mem::take(&mut open.masked);
                    is_changed = true;
                }
            }
            if is_changed {
                frame.bytes = replace_parts(self.dialect, &frame.bytes, &frame.parts);
            }
            // The rest of the frame may have a secret too.
            let masked = self.masker.bytes(&frame.bytes);
            out.extend_from_slice(masked.as_deref().unwrap_or(&frame.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::SecretString;

    use super::*;

    const SECRET: &str = "canary-0123456789";

    fn frame(text: &str) -> String {
        let text = serde_json::Value::from(text);
        format!("data: {{\"x\": 1,  \"choices\":[{{\"delta\":{{\"content\":{text}}}}}]}}\r\n\r\n")
    }

    fn call(index: usize, text: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{index},\"function\":{{\"arguments\":{text}}}}}]}}}}]}}\n\n"
        )
    }

    fn masked(frames: &[String]) -> Vec<String> {
        let masker = Masker::new([("KEY".to_owned(), SecretString::from(SECRET))]);
        let mut masked = MaskedFrames::new(Dialect::Chat, masker);
        let mut sent: Vec<Vec<u8>> = frames
            .iter()
            .map(|frame| masked.push(frame.as_bytes()))
            .collect();
        sent.push(masked.finish());
        sent.into_iter()
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .collect()
    }

    #[test]
    fn p19_secret_that_is_split_between_frames_is_masked() {
        for at in 1..SECRET.len() {
            let (first, second) = SECRET.split_at(at);
            let sent = masked(&[
                frame(&format!("the key is {first}")),
                ": ping\n\n".to_owned(),
                frame(&format!("{second}.")),
                "data: [DONE]\n\n".to_owned(),
            ]);
            let all = sent.concat();
            let texts: String = split_frames(Dialect::Chat, all.as_bytes())
                .iter()
                .flat_map(|frame| frame_parts(Dialect::Chat, frame))
                .map(|part| part.text)
                .collect();
            assert_eq!(texts, "the key is [masked:KEY].", "{at}");
            assert!(
                all.contains(": ping\n\n") && all.ends_with("data: [DONE]\n\n"),
                "{all}"
            );
        }
    }

    #[test]
    fn frames_without_a_secret_keep_their_bytes_and_their_time() {
        let frames = [
            frame("an ordinary text"),
            frame("with a can"),
            frame(" of tea"),
            frame("that ends with cana"),
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
            "data: [DONE]\n\n".to_owned(),
        ];
        let sent = masked(&frames);
        assert_eq!(sent.concat(), frames.concat());
        assert_eq!(sent[0], frames[0]);
        assert_eq!(
            (sent[1].as_str(), sent[2].clone()),
            ("", frames[1..3].concat())
        );
        assert_eq!(
            (sent[3].as_str(), sent[4].clone()),
            ("", frames[3..5].concat())
        );
    }

    #[test]
    fn p19_secret_is_masked_in_interleaved_calls() {
        let sent = masked(&[
            call(0, "{\"a\":\"canary-01"),
            call(1, "{\"b\":\"canary-0123"),
            call(0, "23456789\"}"),
            call(1, "456789\"}"),
            "data: [DONE]\n\n".to_owned(),
        ]);
        let all = sent.concat();
        assert!(!all.contains("23456789"), "{all}");
        assert_eq!(all.matches("[masked:KEY]").count(), 2, "{all}");
    }

    #[test]
    fn p19_secret_whose_beginning_looks_like_something_else_is_masked() {
        // A comment with a quote, escapes, a name in front, and data in several lines.
        for first in [
            ": \"\n: x\n",
            "event: \"\n",
            "data: {\"a\": \"\\u0063\",\ndata:",
        ] {
            let json = r#"{"choices":[{"delta":{"content":"see canary-01"}}]}"#;
            let json = if first.starts_with("data") {
                json.replacen('{', "", 1)
            } else {
                format!("data: {json}")
            };
            let sent = masked(&[format!("{first}{json}\n\n"), frame("23456789!")]);
            let all = sent.concat();
            assert!(all.contains("see [masked:KEY]!"), "{first}: {all}");
            assert!(!all.contains("canary"), "{first}: {all}");
        }
    }

    #[test]
    fn p19_secret_in_one_frame_is_masked() {
        let sent = masked(&[frame(&format!("{SECRET} and {SECRET}"))]);
        assert!(
            sent[0].contains("[masked:KEY] and [masked:KEY]"),
            "{sent:?}"
        );
    }
}
