//! `windlass init`: writes a windlass.toml.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use clap::Args;
use windlass_workspace::{TestProposal, propose_tests};

use super::agents::{self, Health};
use super::app::App;
use super::exit::{CliError, Exit};
use super::trust;
use crate::config::SourceFile;

/// The file's name.
const FILE: &str = "windlass.toml";

#[derive(Debug, Args)]
pub(super) struct Init {
    /// Overwrite an existing windlass.toml
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let path = app.inputs.cwd.join(FILE);
        let rows = agents::rows(app).await?;
        let mut healthy: Vec<_> = rows.iter().filter(|row| row.health == Health::Ok).collect();
        // The first is the default: a real agent with a login that can edit, rather than one without tools or the mock.
        healthy.sort_by_key(|row| {
            let has_tools = row.capabilities.contains(&"tools");
            (row.backend == "mock", !row.is_usable(), !has_tools)
        });
        let proposal = propose_tests(&app.inputs.cwd);
        let backends: Vec<&str> = healthy.iter().map(|row| row.backend.as_str()).collect();
        let text = text(&backends, proposal.as_ref());
        self.write(&path, &text)
            .map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => CliError::usage(format!(
                    "{} already exists: edit it, or pass --force to replace it",
                    path.display()
                )),
                _ => CliError::failed(format!("{} cannot be written: {error}", path.display())),
            })?;
        app.console.line(&format!("wrote {}", path.display()))?;
        for line in test_lines(proposal.as_ref()) {
            app.console.line(&line)?;
        }
        // Trust the file: Windlass wrote it.
        trust::open(app)?.trust(&SourceFile::read(&path)?)?;
        Ok(Exit::Done)
    }

    /// Writes the file without following a symbolic link.
    fn write(&self, path: &std::path::Path, text: &str) -> std::io::Result<()> {
        if self.force {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(text.as_bytes())
    }
}

/// Returns a configuration with every available agent, of which the first is the default, and with
/// the tests that the project's files suggest.
fn text(backends: &[&str], tests: Option<&TestProposal>) -> String {
    let mut text =
        String::from("# All keys: docs/configuration.md. Effective settings: windlass config\n");
    if let Some(first) = backends.first() {
        text.push_str(&format!("default_agent = \"{first}\"\n"));
    }
    if let Some(tests) = tests {
        text.push_str("\n[tests]\n");
        if tests.projects.is_empty() {
            text.push_str(&format!("command = {}\n", list(&tests.command)));
        } else {
            text.push_str(&format!(
                "# A change is tested in the projects that it touches: {:?}.\n# Set `command` to test everything.\n",
                tests.projects
            ));
        }
        if let Some(setup) = &tests.setup {
            text.push_str(
                "# Prepares a fresh checkout, with network access. Later ones share the result.\n",
            );
            text.push_str(&format!("setup = {}\n", list(setup)));
        }
    }
    let mut written: Vec<&str> = Vec::new();
    for backend in backends.iter().copied() {
        // Several configured agents may have one backend.
        if written.contains(&backend) {
            continue;
        }
        written.push(backend);
        text.push_str(&format!(
            "\n[agents.{backend}]\nbackend = \"{backend}\"\ntimeout_secs = 600\n"
        ));
    }
    text
}

/// Returns a command as TOML.
fn list(command: &[String]) -> String {
    let words = command.iter().map(|word| toml::Value::from(word.as_str()));
    toml::Value::Array(words.collect()).to_string()
}

/// Describes what was detected.
fn test_lines(tests: Option<&TestProposal>) -> Vec<String> {
    let Some(tests) = tests else {
        return vec!["tests: not detected; set `tests.command`".to_owned()];
    };
    let mut lines = vec![format!("tests: {}", tests.command.join(" "))];
    if !tests.projects.is_empty() {
        let projects = tests.projects.join(", ");
        lines.push(format!(
            "projects: {projects}; a change is tested in those that it touches"
        ));
    }
    lines.extend(
        tests
            .setup
            .iter()
            .map(|setup| format!("set-up: {}", setup.join(" "))),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_survive_as_toml() {
        let tests = TestProposal {
            command: [".venv/bin/python", "-m", "pytest"]
                .map(str::to_owned)
                .to_vec(),
            setup: Some(vec![
                "sh".into(),
                "-c".into(),
                r#"pip install -e '.[a]' "b\c""#.into(),
            ]),
            projects: Vec::new(),
        };
        let text = text(&["codex"], Some(&tests));
        let table: toml::Table = text.parse().unwrap();
        let read = |key: &str| -> Vec<String> { table["tests"][key].clone().try_into().unwrap() };
        assert_eq!(read("command"), tests.command);
        assert_eq!(Some(read("setup")), tests.setup);
        assert_eq!(table["default_agent"].as_str(), Some("codex"));
    }

    #[test]
    fn command_of_a_monorepo_is_left_to_detection() {
        let tests = TestProposal {
            command: vec!["everything".into()],
            setup: Some(vec!["install".into()]),
            projects: vec!["api".into(), "a\nb".into()],
        };
        let table: toml::Table = text(&[], Some(&tests)).parse().unwrap();
        let tests = table["tests"].as_table().unwrap();
        assert_eq!(tests.keys().collect::<Vec<_>>(), ["setup"]);
    }
}
