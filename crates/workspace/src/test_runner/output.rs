//! The output of a test run: hashed completely, retained at both ends.

use std::collections::VecDeque;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use windlass_core::limits::OUTPUT_BYTES;

/// Lines in order. Line endings are normalized to newlines.
#[derive(Debug, Default)]
pub(crate) struct OutputLog {
    hash: Sha256,
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    dropped: u64,
}

impl OutputLog {
    pub(crate) fn line(&mut self, line: &str) {
        self.hash.update(line.as_bytes());
        self.hash.update(b"\n");
        if self.tail.is_empty() && self.head.len() + line.len() < OUTPUT_BYTES / 2 {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        self.tail_bytes += line.len() + 1;
        self.tail.push_back(line.to_owned());
        while self.tail_bytes > OUTPUT_BYTES / 2 && self.tail.len() > 1 {
            let bytes = self.tail.pop_front().map_or(0, |line| line.len() + 1);
            self.tail_bytes -= bytes;
            self.dropped += bytes as u64;
        }
    }

    /// Returns the retained text and the SHA-256 of the complete output in hexadecimal.
    pub(crate) fn finish(self) -> (String, String) {
        let mut text = self.head;
        if self.dropped > 0 {
            let _ = writeln!(text, "[… {} bytes cut …]", self.dropped);
        }
        for line in self.tail {
            text.push_str(&line);
            text.push('\n');
        }
        (text, hexadecimal(&self.hash.finalize()))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_output_is_hashed() {
        let mut output = OutputLog::default();
        output.line("abc");
        let (text, hash) = output.finish();
        assert_eq!(text, "abc\n");
        assert_eq!(
            hash,
            "edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb"
        );
    }

    #[test]
    fn p12_head_and_tail_are_retained_with_a_marker() {
        let mut output = OutputLog::default();
        for number in 0..400_000 {
            output.line(&format!("line {number}"));
        }
        let (text, _) = output.finish();
        assert!(text.len() < OUTPUT_BYTES + 64);
        assert!(text.starts_with("line 0\n") && text.ends_with("line 399999\n"));
        assert_eq!(text.matches("bytes cut …]").count(), 1);
    }
}
