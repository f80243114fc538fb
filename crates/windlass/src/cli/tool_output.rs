//! The output of a running tool, line by line (pure).

use serde_json::Value;

/// How many lines of one tool call are shown while it runs.
const MAX_LINES: usize = 20;
/// The maximum length of a line that is held until it ends.
const MAX_PARTIAL_BYTES: usize = 4 << 10;

/// Splits the output of the running tool into lines, and shows only the first of them.
#[derive(Debug, Default)]
pub(super) struct ToolOutputLines {
    tool: String,
    partial: String,
    lines: usize,
}

impl ToolOutputLines {
    /// Returns the lines to print for an update of this tool.
    pub(super) fn update(&mut self, tool: &str, update: &Value) -> Vec<String> {
        let Some(text) = update.get("output").and_then(Value::as_str) else {
            return Vec::new();
        };
        if self.tool != tool {
            *self = Self {
                tool: tool.to_owned(),
                ..Self::default()
            };
        }
        let mut shown = Vec::new();
        for piece in text.split_inclusive('\n') {
            let room = MAX_PARTIAL_BYTES.saturating_sub(self.partial.len());
            self.partial
                .push_str(&piece[..piece.floor_char_boundary(room)]);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                shown.extend(self.end_of_line(line.trim_end()));
            }
        }
        shown
    }

    fn end_of_line(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            return None;
        }
        self.lines += 1;
        match self.lines {
            ..=MAX_LINES => Some(format!("  {line}")),
            n if n == MAX_LINES + 1 => Some("  …".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn complete_lines_are_shown_up_to_the_limit() {
        let mut output = ToolOutputLines::default();
        let mut update = |tool: &str, text: &str| output.update(tool, &json!({ "output": text }));
        assert_eq!(update("1", "one\r\ntw"), ["  one"]);
        assert_eq!(update("1", "o\n\nthree\n"), ["  two", "  three"]);
        let many = "x\n".repeat(50);
        let shown = update("1", &many);
        assert_eq!((shown.len(), shown[17].as_str()), (18, "  …"));
        assert!(update("1", &many).is_empty());
        assert_eq!(update("2", "new\n"), ["  new"]);
        assert_eq!(output.update("2", &json!({ "title": "x" })), [""; 0]);
        let long = "é".repeat(10_000) + "\n";
        let shown = output.update("2", &json!({ "output": long }));
        assert!(shown[0].len() <= MAX_PARTIAL_BYTES + 2);
    }
}
