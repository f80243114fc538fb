//! Any content of files and variables gives a configuration or an error of one line without control characters.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass::config::Config;

use super::config_harness::Harness;

/// Generates text in which configuration keys and syntax are frequent.
fn config_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => proptest::sample::select(vec![
            "default_agent", "agents", "acp", "codex", "command", "extra_env", "A", "tests", "WINDLASS__",
            "WINDLASS_AGENT", "LIMITS__TURN_SECS", "permissions", "expectations", "600", "-1", "inf", "true",
        ]),
        6 => proptest::sample::select(vec![
            "=", ".", "\n", "[", "]", "[[", "]]", "{", "}", "\"", "'", "\"\"\"", "#", ",", " ", "\\", "$", "\r", "__",
        ]),
        1 => proptest::sample::select(vec!["\u{1b}[31m", "\u{202e}", "\0", "\u{feff}", "ü", "\u{9b}"]),
    ];
    proptest::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_input_gives_one_escaped_line(
        project in config_text(),
        dot_env in config_text(),
        name in config_text(),
        value in config_text(),
        is_trusted in proptest::bool::weighted(0.1),
    ) {
        let harness = Harness::with_project(&project)
            .dot_env(&dot_env)
            .variable(&format!("WINDLASS__{name}"), &value);
        let harness = if is_trusted { harness.trusted() } else { harness };
        let lines = match Config::load(&harness.inputs) {
            Ok(config) => {
                let entries = config.entries().into_iter();
                let entries = entries.map(|entry| format!("{} {} {}", entry.key, entry.value, entry.origin));
                entries.chain(config.notices().iter().map(ToString::to_string)).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        for line in lines {
            prop_assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
        }
    }
}
