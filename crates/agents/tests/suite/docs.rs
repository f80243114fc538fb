//! The table of agents' state in `docs/sandbox.md` is written from their profiles and presets.

use expect_test::expect_file;
use windlass_agents::{acp, cli};

const DOCUMENT: &str = include_str!("../../../../docs/sandbox.md");

#[test]
fn agent_state_in_docs_matches_profiles() {
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    let profiles = cli::PROFILES.iter().map(|profile| profile.program);
    let presets = acp::PRESETS.iter().map(|preset| preset.program);
    for program in profiles.chain(presets) {
        let name = program.name;
        let paths = program
            .state
            .dirs
            .iter()
            .chain(program.state.files)
            .copied();
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(paths),
            None => rows.push((name, paths.collect())),
        }
    }
    rows.sort_unstable();
    let mut table = "| agent | state in the home directory |\n|---|---|\n".to_owned();
    for (name, mut paths) in rows {
        paths.sort_unstable();
        paths.dedup();
        let paths: Vec<String> = paths.iter().map(|path| format!("`~/{path}`")).collect();
        table.push_str(&format!("| {name} | {} |\n", paths.join(" ")));
    }
    let begin = DOCUMENT.find("<!-- begin agent state: ").unwrap();
    let begin = begin + DOCUMENT[begin..].find('\n').unwrap() + 1;
    let end = DOCUMENT.find("<!-- end agent state -->").unwrap();
    let expected = format!("{}{table}{}", &DOCUMENT[..begin], &DOCUMENT[end..]);
    expect_file!["../../../../docs/sandbox.md"].assert_eq(&expected);
}
