//! Recognizes a known agent by the program that its command starts.

use std::path::Path;

use super::preset::Preset;
use super::presets::PRESETS;

/// Programs that start the package in their first argument.
const LAUNCHERS: &[&str] = &["npx", "bunx", "pnpx"];

/// Names of programs that other agents may have too.
const AMBIGUOUS: &[&str] = &["agent"];

/// Returns the preset of the agent that this command starts: by the name of the program, or of the package that a
/// launcher such as `npx` starts.
pub(super) fn preset(command: &[String]) -> Option<&'static Preset> {
    let (program, args) = command.split_first()?;
    let program = file_name(program)?;
    let name = if LAUNCHERS.contains(&program) {
        let package = args.iter().find(|arg| !arg.starts_with('-'))?;
        package_name(package)
    } else {
        program
    };
    let is_started = |preset: &&&Preset| {
        let programs = preset.program.programs;
        programs.contains(&name) && !AMBIGUOUS.contains(&name)
    };
    PRESETS.iter().find(is_started).copied()
}

fn file_name(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()
}

/// Returns the last part of a package's name, without scope and version.
fn package_name(package: &str) -> &str {
    let name = package.rsplit('/').next().unwrap_or(package);
    name.split('@').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_agents_are_recognized_by_their_programs() {
        let name = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|part| (*part).to_owned()).collect();
            preset(&command).map(Preset::name)
        };
        assert_eq!(name(&["codex-acp"]), Some("codex-acp"));
        assert_eq!(name(&["/opt/bin/codex-acp", "-v"]), Some("codex-acp"));
        assert_eq!(name(&["gemini", "--experimental-acp"]), Some("gemini"));
        assert_eq!(
            name(&["npx", "-y", "@agentclientprotocol/codex-acp@2.6.0"]),
            Some("codex-acp")
        );
        for unknown in [&["my-agent"][..], &["npx"], &["npx", "-y"], &["agent"], &[]] {
            assert_eq!(name(unknown), None, "{unknown:?}");
        }
    }
}
