//! Renders prompt templates.

/// Replaces each `{{name}}` with its value. Values are not scanned again, so text of a task or a test cannot
/// insert other values. A placeholder without a value stays unchanged.
pub(crate) fn render(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let placeholder = after[2..].split_once("}}").and_then(|(name, remainder)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, remainder))
        });
        match placeholder {
            Some((value, remainder)) => {
                text.push_str(value);
                rest = remainder;
            }
            None => {
                text.push_str("{{");
                rest = &after[2..];
            }
        }
    }
    text.push_str(rest);
    collapse_blank_lines(&text)
}

/// Collapses runs of empty lines into one and trims the ends, so that empty values leave no gaps.
fn collapse_blank_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim().lines() {
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Truncates a long text in the middle and marks the gap.
pub(crate) fn truncate_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    format!(
        "{}\n[{} bytes omitted]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

/// Truncates a long text at the end and adds an ellipsis.
pub(crate) fn truncate_end(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

/// Returns a code fence that does not occur in the text.
pub(crate) fn fence(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_inserted_once_and_not_rescanned() {
        let text = render(
            "a {{x}} b {{y}} {{none}}",
            &[("x", "{{y}}"), ("y", "{{x}}")],
        );
        assert_eq!(text, "a {{y}} b {{x}} {{none}}");
        assert_eq!(render("one\n\n{{x}}\n\ntwo", &[("x", "")]), "one\n\ntwo");
        assert_eq!(render("{{ open", &[]), "{{ open");
    }

    #[test]
    fn truncation_is_marked_and_keeps_valid_utf8() {
        assert_eq!(truncate_middle("short", 10), "short");
        let truncated = truncate_middle(&"ä".repeat(100), 20);
        assert!(truncated.contains("bytes omitted"), "{truncated}");
        assert_eq!(truncate_end("äöü", 3), "ä…");
    }
}
