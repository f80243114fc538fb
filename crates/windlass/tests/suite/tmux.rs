//! A terminal for tests: the program runs in tmux, and its screen is compared with a stored one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use regex_lite::Regex;
use tempfile::TempDir;

use super::task_harness::TaskHarness;

/// How often the screen is read until a text is there: long enough for a busy machine.
const MAX_READS: usize = 2400;

/// A terminal that runs one chat.
pub(crate) struct Tmux {
    /// Holds the socket, whose path must be short.
    dir: TempDir,
    root: PathBuf,
}

impl Tmux {
    /// Starts `windlass chat` with these arguments in a terminal of this many columns.
    pub(crate) fn chat(harness: &TaskHarness, path: &str, columns: u32, args: &[&str]) -> Self {
        let tmux = Self {
            dir: TempDir::new_in("/tmp").unwrap(),
            root: harness.path(""),
        };
        let columns = columns.to_string();
        let mut command = tmux.command();
        command
            .args(["new-session", "-d", "-x", &columns, "-y", "60"])
            .arg("-c")
            .arg(harness.project())
            .args(["env", "-i", "TERM=tmux-256color", "LANG=C.UTF-8"])
            .arg(format!("PATH={path}"))
            .arg(format!("HOME={}", harness.home().display()))
            .arg("KEY=not-a-real-key")
            // Keeps the screen after the program's end. Ctrl-C is for the program alone.
            .args([
                "sh",
                "-c",
                "trap : INT; \"$@\"; echo \"exit code $?\"; exec cat",
                "sh",
            ])
            .arg(assert_cmd::cargo::cargo_bin("windlass"))
            .arg("--config")
            .arg(harness.path("named.toml"))
            .arg("chat")
            .args(args);
        command.assert().success();
        tmux
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command
            .env("LANG", "C.UTF-8")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.dir.path().join("s"));
        command
    }

    /// Types a line.
    pub(crate) fn line(&self, text: &str) {
        self.command()
            .args(["send-keys", "-l", text])
            .assert()
            .success();
        self.key("Enter");
    }

    /// Presses a key, such as `C-c`.
    pub(crate) fn key(&self, name: &str) {
        self.command().args(["send-keys", name]).assert().success();
    }

    /// Returns the screen without empty lines at its end.
    pub(crate) fn screen(&self) -> String {
        let output = self
            .command()
            .args(["capture-pane", "-p"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim_end().to_owned() + "\n"
    }

    /// Waits until the screen contains the text this many times.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str, times: usize) {
        self.wait_until(text, |screen| screen.matches(text).count() >= times);
    }

    /// Waits until the last line is an empty prompt.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&self, agent: &str) {
        let prompt = format!("{agent} ›");
        self.wait_until(&prompt, |screen| screen.trim_end().ends_with(&prompt));
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        let mut reads = 0;
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return;
            }
            assert!(
                reads < MAX_READS,
                "{what:?} is not on the screen:\n{screen}"
            );
            reads += 1;
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the screen with placeholders for what differs between two runs.
    pub(crate) fn normalized(&self) -> String {
        let mut screen = self.screen();
        screen = screen.replace(self.root.to_str().unwrap().trim_end_matches('/'), "$ROOT");
        for (pattern, placeholder) in [
            (r"\d+\.\d s\b", "N s"),
            (r"\$\d+\.\d{4}", "$$N"),
            (r"\d+ tokens in, \d+ out", "N tokens"),
            (r"\b[0-9a-f]{12}\b", "ID"),
            (r"(?m)^  blocked connections .*\n(    .*\n)*", ""),
        ] {
            let pattern = Regex::new(pattern).unwrap();
            screen = pattern.replace_all(&screen, placeholder).into_owned();
        }
        screen
    }

    /// Waits for the end of the program, then compares the screen with the stored one.
    #[track_caller]
    pub(crate) fn check(&self, name: &str) {
        self.wait_for("exit code", 1);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
        let file = path.join(format!("{name}.txt"));
        expect_test::expect_file![file].assert_eq(&self.normalized());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}

/// Returns a PATH with these programs in front.
pub(crate) fn path_with(programs: &Path) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display())
}
