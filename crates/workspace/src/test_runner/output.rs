//! All that a run printed: hashed in full, kept at both ends.

use std::collections::VecDeque;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use windlass_core::limits::OUTPUT_BYTES;

/// Lines as they come. Line ends are taken for newlines.
#[derive(Debug, Default)]
pub(crate) struct OutputLog {
    hash: Sha256,
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    cut: u64,
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
            let gone = self.tail.pop_front().map_or(0, |line| line.len() + 1);
            self.tail_bytes -= gone;
            self.cut += gone as u64;
        }
    }

    /// What is kept, and the SHA-256 of everything in hexadecimal.
    pub(crate) fn finish(self) -> (String, String) {
        let mut text = self.head;
        if self.cut > 0 {
            let _ = writeln!(text, "[… {} bytes cut …]", self.cut);
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
    fn everything_is_hashed() {
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
    fn p12_head_and_tail_are_kept_and_the_cut_is_said() {
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
