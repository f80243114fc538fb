//! Formats a trace as lines: start time, a bar for the duration, name, and usage of each step.

use windlass_core::{TraceNode, Usage, escape_line};

use crate::cli::console::{BAD, GOOD, QUIET, STRONG};

/// Width of the time chart, in columns.
const BAR_WIDTH: usize = 24;
/// Maximum number of lines shown of a failed process's stderr.
const QUOTED_LINES: usize = 3;

/// Formats the trace, one line for each step and one for each error.
pub(super) fn lines(root: &TraceNode) -> Vec<String> {
    let scale = TimeScale::from_root(root);
    let mut rows = Vec::new();
    collect_rows(root, 0, &mut rows);
    let names = rows.iter().map(|row| row.name.chars().count());
    let offsets = rows.iter().map(|row| row.offset(&scale).len());
    let (name, offset) = (names.max().unwrap_or(0), offsets.max().unwrap_or(0));
    let mut lines = Vec::new();
    for row in &rows {
        lines.push(row.line(&scale, name, offset));
        lines.extend(row.detail_lines(offset));
    }
    lines
}

/// The time range of the chart.
struct TimeScale {
    start: u64,
    millis: u64,
}

impl TimeScale {
    fn from_root(root: &TraceNode) -> Self {
        let start = root.start.0;
        Self {
            start,
            millis: end(root).saturating_sub(start).max(1),
        }
    }

    /// Draws the bar of a step. A step with a duration of 0 ms gets a thin mark.
    fn bar(&self, node: &TraceNode) -> String {
        let column = |at: u64| {
            let at = at.saturating_sub(self.start).min(self.millis);
            usize::try_from(at * BAR_WIDTH as u64 / self.millis).unwrap_or(BAR_WIDTH)
        };
        let from = column(node.start.0).min(BAR_WIDTH - 1);
        let to = column(node.start.0 + node.duration_ms).clamp(from + 1, BAR_WIDTH);
        let mark = match node.duration_ms {
            0 => "▏",
            _ => "█",
        };
        format!(
            "{}{}{}",
            " ".repeat(from),
            mark.repeat(to - from),
            " ".repeat(BAR_WIDTH - to)
        )
    }
}

/// Returns the end of a step and of all steps inside it: an inner step may end after the recorded end of the outer
/// one.
fn end(node: &TraceNode) -> u64 {
    let own = node.start.0 + node.duration_ms;
    node.children.iter().map(end).fold(own, u64::max)
}

struct TraceRow<'a> {
    node: &'a TraceNode,
    depth: usize,
    name: String,
}

fn collect_rows<'a>(node: &'a TraceNode, depth: usize, rows: &mut Vec<TraceRow<'a>>) {
    let agent = node.agent.iter().filter(|agent| !agent.is_empty());
    let parts: Vec<&str> = std::iter::once(node.name.as_str())
        .chain(agent.map(String::as_str))
        .collect();
    rows.push(TraceRow {
        node,
        depth,
        name: format!("{}{}", "  ".repeat(depth), escape_line(&parts.join(" "))),
    });
    for child in &node.children {
        collect_rows(child, depth + 1, rows);
    }
}

impl TraceRow<'_> {
    fn offset(&self, scale: &TimeScale) -> String {
        format!("+{}", time(self.node.start.0.saturating_sub(scale.start)))
    }

    fn line(&self, scale: &TimeScale, name: usize, offset: usize) -> String {
        let style = match self.node.error {
            Some(_) => BAD,
            None => GOOD,
        };
        let summary = summary(self.node);
        let when = self.offset(scale);
        let bar = scale.bar(self.node);
        let strong = if self.depth == 0 {
            STRONG
        } else {
            anstyle::Style::new()
        };
        let line = format!(
            "{QUIET}{when:>offset$}{QUIET:#} {style}{bar}{style:#} {strong}{}{strong:#}{}  {QUIET}{}{QUIET:#}",
            self.name,
            " ".repeat(name.saturating_sub(self.name.chars().count())),
            escape_line(&summary),
        );
        line.trim_end().to_owned()
    }

    /// Formats the error, and the last lines of a failed process's stderr.
    fn detail_lines(&self, offset: usize) -> Vec<String> {
        let indent = " ".repeat(offset + BAR_WIDTH + 4 + 2 * self.depth);
        let mut lines = Vec::new();
        if let Some(error) = &self.node.error {
            let message = escape_line(&error.message);
            lines.push(format!("{indent}{BAD}{}{BAD:#} {message}", error.code));
        }
        if let Some(stderr) = &self.node.stderr {
            let all: Vec<&str> = stderr.lines().collect();
            for line in all.iter().skip(all.len().saturating_sub(QUOTED_LINES)) {
                lines.push(format!("{indent}{QUIET}│ {}{QUIET:#}", escape_line(line)));
            }
        }
        lines
    }
}

/// Formats the duration of a step, its exit code or HTTP status, and its usage.
fn summary(node: &TraceNode) -> String {
    let mut parts = vec![time(node.duration_ms)];
    parts.extend(node.exit_code.map(|code| format!("exit {code}")));
    parts.extend(node.status.map(|status| format!("status {status}")));
    parts.extend(node.usage.as_ref().map(usage_label));
    parts.join(", ")
}

fn usage_label(usage: &Usage) -> String {
    let input = usage.input_tokens
        + usage.cache_read_tokens.unwrap_or(0)
        + usage.cache_write_tokens.unwrap_or(0);
    let tokens = format!("{input} + {} tokens", usage.output_tokens);
    match usage.cost_usd {
        Some(cost) => format!("{tokens}, ${cost:.4}"),
        None => tokens,
    }
}

/// Formats a duration.
pub(super) fn time(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {:02} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use windlass_core::{ErrorCode, Timestamp, TraceError};

    use super::*;

    fn node(name: &str, agent: &str, start: u64, duration_ms: u64) -> TraceNode {
        TraceNode {
            name: name.to_owned(),
            agent: Some(agent.to_owned()).filter(|agent| !agent.is_empty()),
            start: Timestamp(1_000_000 + start),
            duration_ms,
            ..TraceNode::default()
        }
    }

    fn plain(lines: Vec<String>) -> String {
        let bytes = lines.join("\n") + "\n";
        anstream::adapter::strip_str(&bytes).to_string()
    }

    #[test]
    fn trace_is_drawn_as_time_chart() {
        let mut root = node("request", "composite/profile/both", 0, 2400);
        let mut first = node("node", "codex", 0, 400);
        first.exit_code = Some(1);
        first.stderr = Some("a warning\nquota exceeded\u{1b}[31m".to_owned());
        first.error = Some(TraceError {
            code: ErrorCode::RateLimited,
            message: "quota\nexceeded".to_owned(),
        });
        let mut second = node("node", "gpt", 400, 2000);
        second.status = Some(200);
        second.usage = Some(Usage {
            input_tokens: 1200,
            output_tokens: 80,
            cost_usd: Some(0.0123),
            ..Usage::default()
        });
        second.children = vec![node("answer", "openai", 2400, 0)];
        root.children = vec![first, second];
        expect![[r#"
              +0 ms ████████████████████████ request composite/profile/both  2.4 s
              +0 ms ████                       node codex                    400 ms, exit 1
                                                 RateLimited quota\nexceeded
                                                 │ a warning
                                                 │ quota exceeded\u{1b}[31m
            +400 ms     ████████████████████   node gpt                      2.0 s, status 200, 1200 + 80 tokens, $0.0123
             +2.4 s                        ▏     answer openai               0 ms
        "#]]
        .assert_eq(&plain(lines(&root)));
    }

    #[test]
    fn durations_are_formatted_by_size() {
        let times = [0, 999, 1_000, 59_999, 60_000, 3_725_000].map(time);
        let expected = [
            "0 ms",
            "999 ms",
            "1.0 s",
            "59.9 s",
            "1 min 00 s",
            "62 min 05 s",
        ];
        assert_eq!(times, expected);
    }
}
