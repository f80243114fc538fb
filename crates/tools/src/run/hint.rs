//! The pre-check of a command line: finds a command that is not expected to work. Does no I/O.

use std::path::Path;

use super::allowed_commands::ALLOWED_COMMANDS;
use super::lexer::{SimpleCommand, parse_commands};

/// Words that precede a command.
const PREFIX_WORDS: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "command", "builtin",
    "exec", "nohup",
];

/// Shell keywords that are not checked.
const SYNTAX: &[&str] = &[
    "fi", "done", "esac", "}", "for", "case", "select", "function", "in",
];

/// Commands that run the command after their own options.
const WRAPPER_COMMANDS: &[&str] = &[
    "env", "xargs", "nice", "timeout", "stdbuf", "setsid", "watch",
];

/// Options of these commands that take the next word as value.
const VALUE_OPTIONS: &[&str] = &["-I", "-u", "-d", "-a", "-E", "-s", "-k", "-C"];

/// Shells, which run the text after `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh"];

/// The first blocked command of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockedCommand {
    /// The command as written.
    pub(super) command: String,
    /// The reason, and what to do instead.
    pub(super) why: &'static str,
}

const UNKNOWN: &str = "not in the list of allowed commands";
const PARENT_ESCAPE: &str =
    "the path leaves the workspace; every call starts in the workspace directory";
const UNPARSABLE: &str = "a quote or a bracket is not closed";
const COMPUTED: &str = "the command name is computed; write it literally";
const REMOVES: &str =
    "delete files with apply_patch, or in a git repository with `git rm` or `git clean`";
const NETWORK: &str = "network access is not available";

/// Returns the first command that is not expected to work, if any.
pub(super) fn find_blocked(text: &str, allowed: &[String]) -> Option<BlockedCommand> {
    let Some(found) = parse_commands(text) else {
        return Some(BlockedCommand {
            command: text.trim().to_owned(),
            why: UNPARSABLE,
        });
    };
    let functions: Vec<&str> = found
        .iter()
        .filter(|command| command.words[0] == "function")
        .filter_map(|command| command.words.get(1).map(String::as_str))
        .collect();
    let known = |name: &str| {
        ALLOWED_COMMANDS.contains(&name)
            || functions.contains(&name)
            || allowed.iter().any(|other| other == name)
    };
    found.iter().find_map(|command| {
        let why = check_command(command, &known)?;
        Some(BlockedCommand {
            command: command.text.clone(),
            why,
        })
    })
}

/// Returns the reason to block a simple command, if any.
fn check_command(command: &SimpleCommand, known: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    if words.iter().any(|word| has_parent_escape(word)) {
        return Some(PARENT_ESCAPE);
    }
    check_words(&words, known, 0)
}

fn check_words(words: &[&str], known: &dyn Fn(&str) -> bool, depth: usize) -> Option<&'static str> {
    let start = words.iter().position(|word| !is_prefix(word))?;
    let (name, rest) = words[start..].split_first()?;
    if SYNTAX.contains(name) || is_number(name) {
        return None;
    }
    if let Some(why) = check_name(name, known) {
        return Some(why);
    }
    if depth > 8 {
        return Some(UNKNOWN);
    }
    let bare = base(name);
    if SHELLS.contains(&bare) {
        let script = rest.iter().position(|word| is_script_flag(word));
        let text = script.and_then(|at| rest.get(at + 1))?;
        return check_script(text, known);
    }
    if bare == "eval" {
        return check_script(&rest.join(" "), known);
    }
    if WRAPPER_COMMANDS.contains(&bare) {
        let other = (0..rest.len()).find(|at| !is_option(rest, *at))?;
        return check_words(&rest[other..], known, depth + 1);
    }
    if bare == "find" {
        let runs = |word: &&str| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir");
        let others = rest.iter().enumerate().filter(|(_, word)| runs(word));
        return others
            .filter_map(|(at, _)| rest.get(at + 1))
            .find_map(|other| check_name(other, known));
    }
    None
}

fn check_script(text: &str, known: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let Some(found) = parse_commands(text) else {
        return Some(UNPARSABLE);
    };
    found
        .iter()
        .find_map(|command| check_command(command, known))
}

fn check_name(name: &str, known: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    if name.contains(['$', '`', '*', '?']) && !name.starts_with('[') {
        return Some(COMPUTED);
    }
    let is_workspace_path = name.contains('/') && !name.starts_with('/') && !name.starts_with('~');
    let bare = base(name);
    if is_workspace_path && !is_destructive(bare) || known(bare) {
        return None;
    }
    Some(match bare {
        "rm" | "rmdir" | "unlink" | "shred" => REMOVES,
        "curl" | "wget" | "ssh" | "scp" | "nc" | "rsync" | "ping" | "telnet" | "ftp" => NETWORK,
        _ => UNKNOWN,
    })
}

/// Returns `true` if the name is destructive in any directory.
fn is_destructive(name: &str) -> bool {
    matches!(name, "rm" | "dd" | "format" | "shred") || name.starts_with("mkfs")
}

fn base(name: &str) -> &str {
    let file = Path::new(name).file_name().and_then(|file| file.to_str());
    file.unwrap_or(name)
}

/// Returns `true` for a reserved word or an assignment before the command itself.
fn is_prefix(word: &str) -> bool {
    PREFIX_WORDS.contains(&word) || is_assignment(word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

/// Returns `true` for an option, its value, an assignment or a number: the words between `timeout` and its
/// command.
fn is_option(words: &[&str], at: usize) -> bool {
    let word = words[at];
    let before = at.checked_sub(1).map(|before| words[before]);
    let is_value = before.is_some_and(|before| VALUE_OPTIONS.contains(&before));
    is_value || word.starts_with('-') || is_assignment(word) || is_number(word)
}

fn is_number(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h', 'd']);
    !digits.is_empty()
        && digits
            .chars()
            .all(|letter| letter.is_ascii_digit() || letter == '.')
}

fn is_script_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Returns `true` if the word is or contains a path that leads above its start.
fn has_parent_escape(word: &str) -> bool {
    word.split(['=', ':', ',']).any(|path| {
        let mut depth = 0_i32;
        path.split('/').any(|part| {
            match part {
                "" | "." => {}
                ".." => depth -= 1,
                _ => depth += 1,
            }
            depth < 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked_reason(text: &str) -> Option<(String, &'static str)> {
        find_blocked(text, &["terraform".to_owned()]).map(|found| (found.command, found.why))
    }

    #[test]
    fn documented_commands_are_allowed() {
        for name in [
            "ls",
            "cat",
            "head",
            "tail",
            "find",
            "grep",
            "make",
            "cmake",
            "npm",
            "pip",
            "cargo",
            "go",
            "git",
            "python",
            "python3",
            "pytest",
            "sort",
            "uniq",
            "wc",
            "diff",
            "terraform",
        ] {
            assert_eq!(blocked_reason(&format!("{name} x")), None);
        }
    }

    #[test]
    fn common_command_lines_are_allowed() {
        for text in [
            "cd sub && cargo test 2>&1 | tail -n 20",
            "for f in *.py; do python -m py_compile \"$f\" || exit 1; done",
            "if [ -f x ]; then cat x; else echo none; fi",
            "while read -r line; do echo \"$line\"; done < x.txt",
            "git log --oneline main..HEAD -- src | head",
            "git show HEAD~1:src/a.rs > /tmp/a.rs",
            "FOO=bar npx vitest run --reporter=dot",
            "cat > a.py <<'EOF'\nimport os\nos.remove('x')\nEOF\npython a.py",
            "find . -name '*.rs' -exec grep -l foo {} +",
            "grep -rn 'a;b' . | sort | uniq -c; ls *.md",
            "./gradlew test && .venv/bin/python -m pytest && target/debug/x",
            "timeout 10 python x.py; nice -n 5 make -j2; env A=1 python y.py; ls | xargs -n 1 cat; ls | xargs -I % cat %; env -u A ls",
            "bash -c 'ls | wc -l'; echo $((1 + 2)); test -n \"$(git status --short)\"",
            "greet() { echo hi; }; greet",
            "[[ -n \"$A\" ]] && echo yes; ! false; { ls; }",
            "/usr/bin/python3 x.py; sed -i 's/../x/' a",
        ] {
            assert_eq!(blocked_reason(text), None, "{text}");
        }
    }

    #[test]
    fn destructive_commands_are_blocked_in_every_position() {
        for (text, command) in [
            ("rm -rf build", "rm -rf build"),
            ("ls; rm x", "rm x"),
            ("ls && dd if=/dev/zero of=x", "dd if=/dev/zero of=x"),
            ("ls\nformat c:", "format c:"),
            ("echo $(rm x)", "rm x"),
            ("echo `rm x`", "rm x"),
            ("ls | xargs rm", "xargs rm"),
            ("find . -exec rm {} \\;", "find . -exec rm {} \\;"),
            ("sh -c 'ls; rm x'", "sh -c 'ls; rm x'"),
            ("env A=1 rm x", "env A=1 rm x"),
            ("/bin/rm x", "/bin/rm x"),
            ("\\rm x", "\\rm x"),
            ("r''m x", "r''m x"),
            ("A=1 rm x", "A=1 rm x"),
            ("if true; then rm x; fi", "then rm x"),
            ("time rm x", "time rm x"),
            ("eval 'rm x'", "eval 'rm x'"),
            ("mkfs.ext4 /dev/sda", "mkfs.ext4 /dev/sda"),
            ("sudo ls", "sudo ls"),
            ("curl http://x", "curl http://x"),
            ("$CMD x", "$CMD x"),
            ("./bin/rm x", "./bin/rm x"),
            ("timeout 5 setsid sleep 9", "timeout 5 setsid sleep 9"),
            ("ls 'x", "ls 'x"),
        ] {
            assert_eq!(
                blocked_reason(text).map(|(command, _)| command).as_deref(),
                Some(command),
                "{text}"
            );
        }
    }

    #[test]
    fn path_above_workspace_is_blocked() {
        for text in [
            "cat ../x",
            "cat a/../../x",
            "cd ..",
            "ls --dir=../x",
            "git -C .. status",
            "echo x > ../y",
            "cat /../etc",
            "tar -xf a.tar --directory=a/../..",
        ] {
            assert_eq!(
                blocked_reason(text).map(|(_, why)| why),
                Some(PARENT_ESCAPE),
                "{text}"
            );
        }
        for text in ["cat a/../b", "git diff a..b", "echo ... ..a", "cat ./x"] {
            assert_eq!(blocked_reason(text), None, "{text}");
        }
    }

    proptest::proptest! {
        /// Any text is checked without a panic, and a blocked command is a part of the text.
        #[test]
        fn any_text_does_not_panic(text in "[a-z\"'`$(){}<>&|;#\\\\ \n\t=./-]{0,60}") {
            let length = find_blocked(&text, &[]).map_or(0, |blocked| blocked.command.len());
            proptest::prop_assert!(length <= text.len());
        }
    }
}
