//! `windlass man`: generates manual pages from the same definitions as `--help`.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::app::App;
use super::exit::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Manual {
    /// Write the pages of all commands to this directory instead of one page to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Manual {
    pub(super) fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let mut program = super::Cli::command();
        // `build` gives every subcommand its full name and the global options.
        program.build();
        let Some(out) = self.out else {
            let page = page(&program)?;
            app.console.text(&String::from_utf8_lossy(&page))?;
            return Ok(Exit::Done);
        };
        write_all(&program, &out).map_err(|error| {
            CliError::failed(format!(
                "cannot write manual pages to {}: {error}",
                out.display()
            ))
        })?;
        Ok(Exit::Done)
    }
}

/// Writes the page of this command and of all commands below it.
fn write_all(command: &Command, out: &Path) -> io::Result<()> {
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join(format!("{}.1", name(command))), page(command)?)?;
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| write_all(below, out))
}

/// Returns the name of a command's page, such as `windlass-task-add`.
fn name(command: &Command) -> &str {
    command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
}

/// Returns the page of one command as roff text.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone().subcommand_value_name("command"))
        .title(name(command).to_uppercase())
        // An empty date would be omitted, and the next field would be printed in its position.
        .date(" ")
        .source(format!("windlass {version}"))
        .manual("Windlass Manual");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    closing(command).to_writer(&mut page)?;
    Ok(page)
}

/// Returns the sections that every page ends with: the exit codes, and the page to read next.
fn closing(command: &Command) -> Roff {
    let codes = super::AFTER_HELP
        .split_once(": ")
        .map_or(super::AFTER_HELP, |(_, codes)| codes);
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for code in codes.split(", ") {
        let (number, meaning) = code.split_once(' ').unwrap_or((code, ""));
        roff.control("TP", ["5"]);
        roff.text([bold(number)]).text([roman(meaning)]);
    }
    if let Some((parent, _)) = name(command).rsplit_once('-') {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold(parent), roman("(1)")]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Command {
        let mut program = super::super::Cli::command();
        program.build();
        program
    }

    /// Checks the pages of a command and of all below it; returns how many there are.
    fn check(command: &Command, dir: &Path, path: &str) -> usize {
        let page = std::fs::read_to_string(dir.join(format!("{path}.1"))).expect(path);
        let page = page.replace("\\-", "-");
        assert!(page.contains(&format!("\n{path} - ")), "{path} has no name");
        assert!(page.contains("interrupted"), "{path} has no exit codes");
        for long in command.get_arguments().filter_map(|arg| arg.get_long()) {
            assert!(page.contains(&format!("--{long}")), "{path}: --{long}");
        }
        let below = command.get_subcommands();
        1 + below
            .map(|below| check(below, dir, &format!("{path}-{}", below.get_name())))
            .sum::<usize>()
    }

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let dir = tempfile::tempdir().unwrap();
        let program = program();
        write_all(&program, dir.path()).unwrap();
        let pages = check(&program, dir.path(), "windlass");
        assert!(pages > 30, "{pages}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), pages);
    }

    #[test]
    fn page_contains_full_command_name() {
        let program = program();
        let task = program.find_subcommand("task").unwrap();
        let add = task.find_subcommand("add").unwrap();
        let page = String::from_utf8(page(add).unwrap()).unwrap();
        assert!(page.contains("windlass task add"), "{page}");
        assert!(page.contains("windlass\\-task\\fR(1)"), "{page}");
    }
}
