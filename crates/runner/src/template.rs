//! Prompts are files with holes; here the holes are filled.

/// Puts each value where its `{{name}}` stands. Values are not looked at again, so that what a task or a test
/// says cannot fill further holes; a hole without a value stays as it is.
pub(crate) fn render(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let filled = after[2..].split_once("}}").and_then(|(name, beyond)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, beyond))
        });
        match filled {
            Some((value, beyond)) => {
                text.push_str(value);
                rest = beyond;
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

/// No more than one empty line in a row, none at the ends: holes that were filled with nothing leave no trace.
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

/// The beginning and the end of a text that is too long, with a mark between.
pub(crate) fn truncate_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    format!(
        "{}\n[{} bytes left out]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

/// The beginning of a text that is too long, with a mark at its end.
pub(crate) fn truncate_end(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_never_read_again() {
        let text = render(
            "a {{x}} b {{y}} {{none}}",
            &[("x", "{{y}}"), ("y", "{{x}}")],
        );
        assert_eq!(text, "a {{y}} b {{x}} {{none}}");
        assert_eq!(render("one\n\n{{x}}\n\ntwo", &[("x", "")]), "one\n\ntwo");
        assert_eq!(render("{{ open", &[]), "{{ open");
    }

    #[test]
    fn what_is_cut_says_so_and_stays_text() {
        assert_eq!(truncate_middle("short", 10), "short");
        let cut_text = truncate_middle(&"ä".repeat(100), 20);
        assert!(cut_text.contains("bytes left out"), "{cut_text}");
        assert_eq!(truncate_end("äöü", 3), "ä…");
    }
}
