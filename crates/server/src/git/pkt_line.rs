//! The lines of git's protocol: what a push wants to move, and what was moved. Pure.

use std::fmt;

/// The maximum size of all commands of a push.
const MAX_COMMAND_BYTES: usize = 1 << 20;
/// How many characters of a commit are shown.
const SHORT: usize = 10;
/// How many refs of a push are named in a summary.
const MAX_NAMED: usize = 4;

/// A ref that a push wants to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefUpdate {
    old: String,
    new: String,
    pub(super) name: String,
}

impl RefUpdate {
    /// Returns `true` if this is a ref that belongs to the tasks of a store: the branch with a result, or a kept change.
    ///
    /// The commits that a task starts from (`refs/windlass/STORE/target/BRANCH`) do not count: they reach the branch when
    /// the task lands.
    pub(super) fn is_of_task(&self) -> bool {
        if let Some(branch) = self.name.strip_prefix("refs/heads/windlass/") {
            return !branch.is_empty();
        }
        let own = self.name.strip_prefix("refs/windlass/");
        let kind = own.and_then(|own| own.split('/').nth(1));
        kind.is_some_and(|kind| kind.starts_with("task-"))
    }
}

impl fmt::Display for RefUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |commit: &str| commit.chars().take(SHORT).collect::<String>();
        write!(
            f,
            "{} {}..{}",
            self.name,
            short(&self.old),
            short(&self.new)
        )
    }
}

/// The commands of a push, which stand in front of its objects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PushCommands {
    pub(super) updates: Vec<RefUpdate>,
    /// Whether the client understands a report that is split into bands.
    has_bands: bool,
    wants_report: bool,
}

impl PushCommands {
    /// Names what is to be moved.
    pub(super) fn summary(&self) -> String {
        let named = self.updates.iter().take(MAX_NAMED);
        let named: Vec<String> = named.map(ToString::to_string).collect();
        let rest = self.updates.len().saturating_sub(MAX_NAMED);
        match rest {
            0 => named.join(", "),
            rest => format!("{} and {rest} more", named.join(", ")),
        }
    }

    /// Returns the report that nothing was moved. git prints the sentence, and the reason after each ref.
    pub(super) fn refusal(&self, sentence: &str, reason: &str) -> Vec<u8> {
        if !self.wants_report {
            return Vec::new();
        }
        let mut report = pkt_line(b"unpack ok\n");
        for update in &self.updates {
            report.extend(pkt_line(
                format!("ng {} {reason}\n", update.name).as_bytes(),
            ));
        }
        report.extend(b"0000");
        if !self.has_bands {
            return report;
        }
        let mut banded = pkt_line(format!("\u{2}{sentence}\n").as_bytes());
        for part in report.chunks(MAX_BAND) {
            banded.extend(pkt_line(&[b"\x01", part].concat()));
        }
        banded.extend(b"0000");
        banded
    }

    /// Returns `true` if a report says that everything was moved.
    pub(super) fn is_done(&self, report: &[u8]) -> bool {
        if !self.wants_report {
            return true;
        }
        let mut inner = Vec::new();
        if self.has_bands {
            for line in Lines(report) {
                if let Some((1, part)) = line.split_first() {
                    inner.extend_from_slice(part);
                }
            }
        } else {
            inner.extend_from_slice(report);
        }
        let mut is_unpacked = false;
        for line in Lines(&inner) {
            is_unpacked |= line.starts_with(b"unpack ok");
            if line.starts_with(b"ng ") {
                return false;
            }
        }
        is_unpacked
    }
}

/// The maximum size of a part in a band.
const MAX_BAND: usize = 60_000;

fn pkt_line(text: &[u8]) -> Vec<u8> {
    [format!("{:04x}", text.len() + 4).as_bytes(), text].concat()
}

/// Returns the length of a line, with its four digits, from its first bytes.
fn length(bytes: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(bytes.get(..4)?).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex
        .then(|| usize::from_str_radix(digits, 16).ok())
        .flatten()
}

/// The lines of a report, up to the first one that is not complete.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = length(self.0).filter(|length| *length >= 4)?;
        let line = self.0.get(4..length)?;
        self.0 = &self.0[length..];
        Some(line)
    }
}

/// Reads the commands of a push from the beginning of its body.
#[derive(Debug, Default)]
pub(super) struct CommandReader {
    bytes: Vec<u8>,
    /// Where the next line begins.
    at: usize,
    commands: PushCommands,
    /// The commands as they were understood.
    understood: Vec<u8>,
}

impl CommandReader {
    /// Adds bytes. Returns `true` when all commands have been read. What is not exactly a command is an error.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<bool, &'static str> {
        self.bytes.extend_from_slice(bytes);
        loop {
            let rest = &self.bytes[self.at..];
            if rest.len() < 4 {
                break;
            }
            let length = length(rest).ok_or("a line without its length")?;
            if length == 0 {
                self.at += 4;
                self.understood.extend(b"0000");
                return Ok(true);
            }
            if length < 5 {
                return Err("a line of an unknown kind");
            }
            let Some(line) = rest.get(4..length) else {
                break;
            };
            let understood = read_line(line, &mut self.commands)?;
            self.understood.extend(pkt_line(understood.as_bytes()));
            self.at += length;
            if self.at > MAX_COMMAND_BYTES {
                return Err("too many refs: push them in several steps");
            }
        }
        Ok(false)
    }

    /// Returns the commands, and the body for git so far: the commands written again, so that git cannot understand them in
    /// another way, and what followed them.
    pub(super) fn finish(mut self) -> (PushCommands, Vec<u8>) {
        self.understood.extend_from_slice(&self.bytes[self.at..]);
        (self.commands, self.understood)
    }
}

/// Reads a line, and returns it as it was understood.
fn read_line(line: &[u8], commands: &mut PushCommands) -> Result<String, &'static str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|_| "a name of a ref that is not UTF-8")?;
    if let Some(commit) = text.strip_prefix("shallow ") {
        let understood = is_hash(commit).then(|| text.to_owned());
        return understood.ok_or("a shallow commit that is none");
    }
    let (command, features) = match text.split_once('\0') {
        Some((command, features)) => (command, Some(features)),
        None => (text, None),
    };
    if let Some(features) = features {
        if !commands.updates.is_empty() {
            return Err("features after the first command");
        }
        let has = |feature: &str| features.split(' ').any(|found| found == feature);
        if has("push-options") || features.contains(|c: char| c.is_control()) {
            return Err("features that this server does not support");
        }
        commands.has_bands = has("side-band-64k") || has("side-band");
        commands.wants_report = has("report-status") || has("report-status-v2");
    }
    let mut parts = command.splitn(3, ' ');
    let (Some(old), Some(new), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("a command that is none");
    };
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_control() || c == ' ');
    if !is_hash(old) || !is_hash(new) || old.len() != new.len() || !is_name {
        return Err("a command that is none");
    }
    let understood = match features {
        Some(features) => format!("{command}\0{features}"),
        None => command.to_owned(),
    };
    commands.updates.push(RefUpdate {
        old: old.to_owned(),
        new: new.to_owned(),
        name: name.to_owned(),
    });
    Ok(understood)
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: &str = "0000000000000000000000000000000000000000";
    const NEW: &str = "1234567890abcdef1234567890abcdef12345678";

    fn body(lines: &[String]) -> Vec<u8> {
        let mut body: Vec<u8> = lines
            .iter()
            .flat_map(|line| pkt_line(line.as_bytes()))
            .collect();
        body.extend(b"0000PACK");
        body
    }

    fn read(bytes: &[u8]) -> Result<PushCommands, &'static str> {
        let mut reader = CommandReader::default();
        if reader.push(bytes)? {
            return Ok(reader.finish().0);
        }
        Err("not complete")
    }

    #[test]
    fn commands_of_git_are_read() {
        let first = format!(
            "{OLD} {NEW} refs/heads/windlass/s/task-1\0 report-status side-band-64k agent=git/2\n"
        );
        let second = format!("{NEW} {OLD} refs/heads/main");
        let commands = read(&body(&[format!("shallow {NEW}"), first, second])).unwrap();
        assert_eq!(
            commands.summary(),
            "refs/heads/windlass/s/task-1 0000000000..1234567890, refs/heads/main 1234567890..0000000000"
        );
        assert!(commands.wants_report && commands.has_bands);
        let refused = commands.refusal("No.", "no");
        assert!(!commands.is_done(&refused));
        assert_eq!(read(b"0000").unwrap(), PushCommands::default());
    }

    #[test]
    fn p22_only_refs_of_tasks_are_of_tasks() {
        let check = |name: &str, expected: bool| {
            let update = RefUpdate {
                old: OLD.to_owned(),
                new: NEW.to_owned(),
                name: name.to_owned(),
            };
            assert_eq!(update.is_of_task(), expected, "{name}");
        };
        for own in [
            "refs/heads/windlass/s/task-1",
            "refs/windlass/s/task-1/attempt-2",
            "refs/windlass/s/task-1/attempt-2-0123456789",
        ] {
            check(own, true);
        }
        for other in [
            "refs/heads/main",
            "refs/heads/windlass",
            "refs/heads/windlass/",
            "refs/heads/Windlass/x",
            "refs/heads/windlassy/x",
            "refs/windlass/s/target/main",
            "refs/windlass/task-1",
            "refs/windlass",
            "refs/tags/v1",
            "HEAD",
            "",
        ] {
            check(other, false);
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            String::new(),
            "push-cert".to_owned(),
            format!("{OLD} {NEW}"),
            format!("{OLD}  {NEW} refs/heads/main"),
            format!("{OLD} {} refs/heads/main", &NEW[1..]),
            format!("{OLD} {NEW} "),
            format!("{OLD} {NEW} refs/heads/main\0 push-options"),
            format!("{OLD} {NEW} refs/heads/windlass/x\0\0refs/heads/main"),
            format!("{OLD} {NEW} refs/heads/windlass/x\n{OLD} {NEW} refs/heads/main"),
            "shallow x".to_owned(),
        ] {
            assert!(
                read(&body(std::slice::from_ref(&line))).is_err(),
                "{line:?}"
            );
        }
        for bytes in [&b"0001"[..], b"0003x", b"zzzz", b"-001", b"00", b"ffff"] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn p12_commands_are_limited() {
        let line = pkt_line(format!("{OLD} {NEW} refs/heads/{}", "x".repeat(60_000)).as_bytes());
        let mut reader = CommandReader::default();
        let error = (0..100).find_map(|_| reader.push(&line).err());
        assert!(error.is_some_and(|error| error.contains("too many refs")));
        assert!(reader.bytes.len() < 2 * MAX_COMMAND_BYTES);
    }

    proptest! {
        #[test]
        fn commands_do_not_depend_on_chunking(cuts in prop::collection::vec(1usize..50, 0..20)) {
            let lines: Vec<String> = (0..5).map(|n| format!("{OLD} {NEW} refs/heads/{n}")).collect();
            let whole = body(&lines);
            let mut reader = CommandReader::default();
            let mut rest = &whole[..];
            let mut is_done = false;
            for cut in cuts {
                if is_done {
                    break;
                }
                let (part, after) = rest.split_at(cut.min(rest.len()));
                is_done = reader.push(part).unwrap();
                rest = after;
            }
            if !is_done {
                prop_assert!(reader.push(rest).unwrap());
                rest = &[];
            }
            let (commands, read) = reader.finish();
            prop_assert_eq!([&read, rest].concat(), whole);
            prop_assert_eq!(commands.updates.len(), 5);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let commands = PushCommands { has_bands: true, wants_report: true, ..PushCommands::default() };
            commands.is_done(&bytes);
        }
    }
}
