//! Tests with git's output, and with texts that only resemble it.

use proptest::prelude::*;

use super::{Diff, DiffLimits, DiffPart, FileChangeKind, LineKind, parse, parse_diff};

fn parse_and_highlight(text: &str) -> Diff {
    let whole = DiffPart {
        path: None,
        highlight: true,
    };
    parse_diff(text, &whole)
}

#[test]
fn one_file_is_parsed_without_those_before_it() {
    let lines = 4_000;
    let large = |name: &str| {
        let added = "+x\n".repeat(lines);
        format!(
            "diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1,{lines} @@\n{added}"
        )
    };
    let text: String = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs", "f.rs"]
        .into_iter()
        .map(large)
        .collect();
    let shown = |part: &DiffPart| -> Vec<(String, usize, bool)> {
        let files = parse_diff(&text, part).files.into_iter();
        files
            .map(|file| (file.path, file.hunks[0].lines.len(), file.truncated))
            .collect()
    };
    let part = DiffPart {
        path: Some("f.rs".to_owned()),
        highlight: false,
    };
    assert_eq!(shown(&part), [("f.rs".to_owned(), lines, false)]);
    let part = DiffPart {
        path: Some("nothing.rs".to_owned()),
        highlight: false,
    };
    assert_eq!(shown(&part), []);
}

fn parse_default(text: &str) -> Diff {
    parse(text, DiffLimits::default())
}

/// Formats a change as text.
fn format_diff(diff: &Diff) -> String {
    let mut text = String::new();
    for file in &diff.files {
        text.push_str(&format!(
            "{:?} {} +{} -{}\n",
            file.change, file.path, file.added, file.removed
        ));
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let sign = match line.kind {
                LineKind::Add => '+',
                LineKind::Del => '-',
                LineKind::Context => ' ',
            };
            let number = |number: Option<u64>| number.map_or("·".to_owned(), |n| n.to_string());
            let content: String = line.spans.iter().map(|span| span.text.as_str()).collect();
            let (old, new) = (number(line.old), number(line.new));
            text.push_str(&format!("{old} {new} {sign}{content}\n"));
        }
    }
    text
}

#[test]
fn files_hunks_and_line_numbers_are_parsed() {
    let text = "\
diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -3,3 +3,3 @@ fn head()
 one
--- two
+++ two
 three
@@ -9 +9,2 @@
-nine
+nine
+ten
\\ No newline at end of file
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
diff --git a/p.png b/p.png
new file mode 100644
Binary files /dev/null and b/p.png differ
diff --git a/from b/to
similarity index 100%
rename from from
rename to to
";
    let diff = parse_default(text);
    let expected = "\
Modified a.txt +3 -2
3 3  one
4 · --- two
· 4 +++ two
5 5  three
9 · -nine
· 9 +nine
· 10 +ten
Added new.txt +1 -0
· 1 +new
Deleted old.txt +0 -1
1 · -old
Added p.png +0 -0
Renamed to +0 -0
";
    assert_eq!(format_diff(&diff), expected);
    assert_eq!(diff.files[0].hunks[0].header, "@@ -3,3 +3,3 @@ fn head()");
    assert_eq!(diff.files[4].change, FileChangeKind::Renamed);
    assert_eq!(diff.files[4].old_path.as_deref(), Some("from"));
    assert!(!diff.truncated);
}

#[test]
fn p24_names_and_lines_are_escaped() {
    let text = "\
diff --git \"a/e\\342\\200\\256vil\\033\\n.txt\" \"b/e\\342\\200\\256vil\\033\\n.txt\"
--- \"a/e\\342\\200\\256vil\\033\\n.txt\"
+++ \"b/e\\342\\200\\256vil\\033\\n.txt\"
@@ -1 +1 @@ \u{1b}[2J
-a\u{1b}]52;c;aGk=\u{7}
+b\u{202e}\u{200b}
";
    let diff = parse_default(text);
    assert_eq!(diff.files[0].path, "e\\u{202e}vil\\u{1b}\\n.txt");
    assert_eq!(diff.files[0].hunks[0].header, "@@ -1 +1 @@ \\u{1b}[2J");
    let expected = "1 · -a\\u{1b}]52;c;aGk=\\u{7}\n· 1 +b\\u{202e}\\u{200b}\n";
    assert!(
        format_diff(&diff).ends_with(expected),
        "{}",
        format_diff(&diff)
    );
}

#[test]
fn p12_files_lines_and_bytes_are_bounded_and_reported() {
    let mut text = String::new();
    for file in 0..5 {
        text.push_str(&format!("diff --git a/{file} b/{file}\n@@ -0,0 +1,4 @@\n"));
        text.push_str(&format!("+one\n+two\n+three\n+{}\n", "é".repeat(100)));
    }
    let limits = DiffLimits {
        files: 3,
        lines: 2,
        all_lines: 5,
        line_bytes: 11,
    };
    let diff = parse(&text, limits);
    assert!(diff.truncated);
    assert_eq!(diff.files.len(), 3);
    assert!(diff.files.iter().all(|file| file.truncated));
    let shown: Vec<usize> = diff
        .files
        .iter()
        .map(|file| file.hunks[0].lines.len())
        .collect();
    assert_eq!(shown, [2, 2, 1]);
    assert_eq!(diff.files[0].added, 4, "all lines are counted");

    let long = format!("diff --git a/a b/a\n@@ -0,0 +1 @@\n+{}\n", "é".repeat(100));
    let diff = parse(&long, limits);
    assert!(
        format_diff(&diff).ends_with("+ééééé … 190 bytes cut\n"),
        "{}",
        format_diff(&diff)
    );
    let cut = "diff --git a/a b/a\n@@ -0,0 +1,9 @@\n+a\n[… 77 bytes cut …]\n+z\n";
    assert!(parse_default(cut).truncated && parse_default(cut).files[0].truncated);
}

#[test]
fn known_languages_are_highlighted() {
    let change = |name: &str, line: &str| {
        let diff = parse_and_highlight(&format!(
            "diff --git a/{name} b/{name}\n@@ -0,0 +1 @@\n+{line}\n"
        ));
        let line = &diff.files[0].hunks[0].lines[0];
        let styles = line.spans.iter().map(|span| span.style);
        styles
            .filter(|style| !style.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(change("a.py", "def f(): return \"x\"  # y").contains("kw"));
    assert!(change("a.ts", "const x: number = 1;").contains("num"));
    assert!(change("Makefile", "all: # y").contains("com"));
    assert!(change("a.toml", "a = \"b\"").contains("str"));
    assert_eq!(change("a.unknown", "const x = 1;"), "");
    assert_eq!(change("a.rs", &"x".repeat(3000)), "");
}

proptest! {
    #[test]
    fn p24_any_text_is_parsed_without_control_characters(lines in proptest::collection::vec(
        prop_oneof![
            Just("diff --git a/x b/y".to_owned()), Just("@@ -1,2 +3,4 @@".to_owned()), Just("@@ -1 +1".to_owned()),
            Just("@@ -18446744073709551615,9 +0,18446744073709551615 @@".to_owned()), Just("--- \"a/\\3".to_owned()),
            Just("+++ b/".to_owned()), Just("rename from \"".to_owned()), "[-+ \\\\]\\PC{0,8}", any::<String>(),
        ], 0..40)) {
        let diff = parse_default(&lines.join("\n"));
        let text = format_diff(&diff);
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        let shown: usize = diff.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.lines.len()).sum();
        prop_assert!(shown <= lines.len() * 2);
    }
}
