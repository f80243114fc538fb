//! Reads git's configuration format. Pure.

/// One setting: its name in lower case, for example `core.hookspath` or `filter.lfs.clean`, and its
/// value. The middle part of a name keeps its case.
pub(super) type GitSetting = (String, String);

/// Returns all settings of a file in order. Lines that git would reject are skipped.
pub(super) fn parse(text: &str) -> Vec<GitSetting> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in joined_lines(text) {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((header, after)) = split_header(rest) else {
                continue;
            };
            section = header;
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let name = name.trim().to_ascii_lowercase();
        settings.push((format!("{section}.{name}"), unquote(value)));
    }
    settings
}

/// Returns the lines of a file; a backslash at the end of a line joins it with the next one.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continues = false;
    for line in text.lines() {
        let (part, ends_open) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| continues) {
            Some(last) => last.push_str(part),
            None => lines.push(part.to_owned()),
        }
        continues = ends_open;
    }
    lines
}

/// Splits `section "sub"] rest` into `section.sub` and `rest`.
fn split_header(text: &str) -> Option<(String, &str)> {
    let Some((section, quoted)) = text
        .split_once('"')
        .filter(|(section, _)| !section.contains(']'))
    else {
        let (section, rest) = text.split_once(']')?;
        return Some((section.trim().to_ascii_lowercase(), rest));
    };
    let mut name = section.trim().to_ascii_lowercase();
    name.push('.');
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let rest = quoted[at + 1..].trim_start();
                return Some((name, rest.strip_prefix(']')?));
            }
            '\\' => name.push(letters.next()?.1),
            letter => name.push(letter),
        }
    }
    None
}

/// Returns a value without quotes, escapes and comment.
fn unquote(value: &str) -> String {
    let mut text = String::new();
    let mut is_quoted = false;
    let mut letters = value.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            '#' | ';' if !is_quoted => break,
            letter => text.push(letter),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_quotes_comments_and_continuations() {
        let text = "\
[core] hooksPath = .husky/_ ; comment
[Filter \"My \\\"LFS\"]
\tclean = \"git # lfs\" clean \\
  -- %f
  required
# [ignored]
[alias]
x = \"!./run\\tme\"
[broken
[old.Style]
y=1";
        let settings = parse(text);
        let expected = [
            ("core.hookspath", ".husky/_"),
            ("filter.My \"LFS.clean", "git # lfs clean   -- %f"),
            ("filter.My \"LFS.required", ""),
            ("alias.x", "!./run\tme"),
            ("old.style.y", "1"),
        ];
        let found: Vec<(&str, &str)> = settings
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(found, expected);
    }
}
