//! The command reference, `docs/commands.md`, generated from the same definitions as `--help`.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory};

/// Returns the whole text of `docs/commands.md`.
pub fn markdown() -> String {
    let mut program = super::Cli::command();
    // Gives every subcommand its full name and the global options.
    program.build();
    let mut text = String::from(
        "# Commands\n\n\
         Generated from the definitions of `windlass --help`; `windlass man` has the same as manual pages.\n",
    );
    section(&program, true, &mut text);
    text
}

/// Writes the section of a command, then the sections of its subcommands.
fn section(command: &Command, is_program: bool, text: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let _ = write!(text, "\n## `{name}`\n\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = write!(text, "{}\n\n", about.to_string().trim());
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let _ = write!(text, "```text\n{}\n```\n", usage.trim());
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| is_shown(arg, is_program))
        .collect();
    if !own.is_empty() {
        text.push_str("\n| argument | meaning |\n|---|---|\n");
        for arg in own {
            let _ = writeln!(text, "| `{}` | {} |", spelling(arg), meaning(arg));
        }
    }
    let below = command.get_subcommands();
    for command in below.filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        section(command, false, text);
    }
}

/// Returns `true` if the argument belongs into this section: global options are listed once, at the top.
fn is_shown(arg: &Arg, is_program: bool) -> bool {
    let is_inherited = arg.is_global_set() && !is_program;
    let is_built_in = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !arg.is_hide_set() && !is_inherited && !is_built_in
}

/// Returns how the argument is written, such as `-a, --agent <NAME>`.
fn spelling(arg: &Arg) -> String {
    let names: Vec<String> = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let values = arg.get_value_names().unwrap_or_default();
    let value = match values.first() {
        Some(value) if arg.get_action().takes_values() => format!("<{value}>"),
        _ => String::new(),
    };
    let several = if matches!(arg.get_action(), ArgAction::Append) {
        "…"
    } else {
        ""
    };
    let text = format!("{} {value}{several}", names.join(", "));
    text.trim().replace('|', "\\|")
}

/// Returns the help text of an argument with its possible and default values, as one table cell.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = help.map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !choices.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, " (one of {})", choices.join(", "));
    }
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, " (default {})", defaults.join(", "));
    }
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
