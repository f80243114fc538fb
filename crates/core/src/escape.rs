//! Escaping of text from agents, tools and files, for safe display.
//!
//! Characters that a terminal would interpret or that a reader would not see are escaped: escape
//! sequences, other control characters, bidirectional controls and zero-width characters.

use std::borrow::Cow;

/// Escapes control characters and invisible characters as `\u{…}`. Tabs and line ends stay.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe_char) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            // CRLF becomes LF.
            '\r' if chars.peek() == Some(&'\n') => {}
            // Emoji and several scripts need joiners. Between ASCII letters they only hide text.
            '\u{200c}' | '\u{200d}' if !before.is_ascii() => shown.push(c),
            _ if is_unsafe_char(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
        before = c;
    }
    Cow::Owned(shown)
}

/// Like [`escape_control`], but also escapes line ends and tabs, so that the text fits on one line.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    let shown = escape_control(text);
    if !shown.contains(['\n', '\t']) {
        return shown;
    }
    Cow::Owned(shown.replace('\n', "\\n").replace('\t', "\\t"))
}

/// Escapes the same characters in JSON text with JSON escapes. The value does not change.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_unsafe_char) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unsafe_char(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn is_unsafe_char(c: char) -> bool {
    match c {
        '\t' | '\n' => false,
        '\u{00}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn p24_control_and_invisible_chars_are_escaped() {
        let check = |text: &str, shown: &str| assert_eq!(escape_control(text), shown);
        check("plain\ttext\nnext", "plain\ttext\nnext");
        check("a\r\nb", "a\nb");
        check("over\rwritten", "over\\u{d}written");
        check("\u{1b}]52;c;aGk=\u{7}", "\\u{1b}]52;c;aGk=\\u{7}");
        check("\u{9b}31m", "\\u{9b}31m");
        check("user\u{202e}txt.exe", "user\\u{202e}txt.exe");
        check("pass\u{200b}word", "pass\\u{200b}word");
        check("pass\u{200d}word", "pass\\u{200d}word");
        check("👩\u{200d}👧", "👩\u{200d}👧");
        check("می\u{200c}خواهم", "می\u{200c}خواهم");
        assert_eq!(escape_line("a\nb\tc"), "a\\nb\\tc");
    }

    proptest! {
        #[test]
        fn p24_escaped_text_has_no_control_chars(text in any::<String>()) {
            let shown = escape_control(&text);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\t' && c != '\n'));
        }

        #[test]
        fn p24_escaped_json_has_the_same_value(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let shown = escape_json(&json);
            prop_assert!(!shown.chars().any(is_unsafe_char));
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
