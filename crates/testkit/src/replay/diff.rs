//! A line diff of two texts, for people.

use std::fmt::Write;

use windlass_core::escape_line;

/// Maximum number of lines of each side that are compared one by one; if more differ, they are
/// shown as one block.
const MAX_COMPARED_LINES: usize = 400;
/// Maximum number of lines shown.
const MAX_SHOWN_LINES: usize = 60;
/// Number of equal lines shown around a difference.
const CONTEXT: usize = 2;
/// Maximum number of characters shown per line.
const WIDTH: usize = 200;

/// One line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffLine<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// Returns the diff from `old` to `new`: `-` lines were removed, `+` lines were added. Equal lines
/// far from a difference are omitted.
pub(super) fn diff(old: &str, new: &str) -> String {
    let lines = compare(&split(old), &split(new));
    let changed: Vec<bool> = lines
        .iter()
        .map(|line| !matches!(line, DiffLine::Same(_)))
        .collect();
    let near = |index: usize| {
        let from = index.saturating_sub(CONTEXT);
        changed[from..(index + CONTEXT + 1).min(changed.len())].contains(&true)
    };
    let mut text = String::new();
    let mut count = 0;
    let mut skipped = false;
    for (index, line) in lines.iter().enumerate() {
        if !near(index) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            text.push_str("  …\n");
        }
        if count == MAX_SHOWN_LINES {
            let _ = writeln!(text, "  … and {} more lines", lines.len() - index);
            break;
        }
        count += 1;
        let (sign, line) = match line {
            DiffLine::Same(line) => (' ', line),
            DiffLine::Old(line) => ('-', line),
            DiffLine::New(line) => ('+', line),
        };
        let _ = writeln!(text, "{sign} {}", truncate(&escape_line(line)));
    }
    text
}

/// Splits a text into lines; line endings that differ remain visible.
fn split(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old_middle, old_tail) = old_rest.split_at(old_rest.len() - tail);
    let new_middle = &new_rest[..new_rest.len() - tail];
    let mut lines: Vec<DiffLine<'a>> = old[..head]
        .iter()
        .map(|line| DiffLine::Same(line))
        .collect();
    if old_middle.len().max(new_middle.len()) > MAX_COMPARED_LINES {
        lines.extend(old_middle.iter().map(|line| DiffLine::Old(line)));
        lines.extend(new_middle.iter().map(|line| DiffLine::New(line)));
    } else {
        interleave(old_middle, new_middle, &mut lines);
    }
    lines.extend(old_tail.iter().map(|line| DiffLine::Same(line)));
    lines
}

/// Keeps the longest common subsequence, with the other lines in between.
fn interleave<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<DiffLine<'a>>) {
    let width = new.len() + 1;
    // `common[i * width + j]`: the length of the longest common subsequence of `old[i..]` and
    // `new[j..]`.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push(DiffLine::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(DiffLine::Old(old[i]));
            i += 1;
        } else {
            lines.push(DiffLine::New(new[j]));
            j += 1;
        }
    }
    lines.extend(old[i..].iter().map(|line| DiffLine::Old(line)));
    lines.extend(new[j..].iter().map(|line| DiffLine::New(line)));
}

fn truncate(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn diff_shows_changes_with_context() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight";
        let new = "one\ntwo\n3\nfour\nfive\nsix\nseven\neight\nnine";
        expect![[r"
              one
              two
            - three
            + 3
              four
              five
              …
              seven
              eight
            + nine
        "]]
        .assert_eq(&diff(old, new));
        expect![[r"
            - a\u{d}
            + a
              b
        "]]
        .assert_eq(&diff("a\r\nb", "a\nb"));
    }

    #[test]
    fn p12_large_diff_is_truncated() {
        let old = "x\n".repeat(100_000);
        let new = format!("y{}\n", "z".repeat(1_000)).repeat(100_000);
        let text = diff(&old, &new);
        assert!(text.len() < 20_000 && text.contains("more lines"), "{text}");
    }
}
