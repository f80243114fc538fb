//! Truncated, shuffled and arbitrary lines: no parser panics, and each still returns a terminal event.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use windlass_agents::cli::claude::{ControlSession, StreamJson};
use windlass_agents::cli::codex::ExecParser;
use windlass_agents::cli::cursor::CursorParser;
use windlass_agents::cli::{Parser, ProcessEnd};
use windlass_core::PermissionPolicy;

use super::replay::{app_server, fixture_names, fixtures, zero_total};

fn parsers() -> Vec<Box<dyn Parser>> {
    vec![
        Box::new(ExecParser::new(1, zero_total())),
        Box::new(app_server(PermissionPolicy::Ask)),
        Box::new(StreamJson::claude(None)),
        Box::new(StreamJson::qwen(zero_total())),
        Box::new(ControlSession::new(PermissionPolicy::Ask, None)),
        Box::new(CursorParser::default()),
    ]
}

fn feed(lines: &[String], stderr: &str, code: i32) {
    for mut parser in parsers() {
        for line in lines {
            parser.parse_line(line);
        }
        assert!(parser.finish(&ProcessEnd { code, stderr }).is_terminal());
    }
}

/// Returns all lines of all recordings.
fn corpus() -> Vec<String> {
    let read = |name: &String| std::fs::read_to_string(fixtures().join(name)).unwrap();
    let text: Vec<String> = fixture_names().iter().map(read).collect();
    text.iter()
        .flat_map(|text| text.lines())
        .map(str::to_owned)
        .collect()
}

#[test]
fn hostile_lines_do_not_break_parsers() {
    let deep = "[".repeat(10_000);
    let wide = format!(
        "{{\"type\":\"item.completed\",\"item\":{{\"text\":\"{}\"}}}}",
        "x".repeat(1 << 20)
    );
    let lines = [
        "",
        " ",
        "\u{feff}",
        "null",
        "true",
        "[]",
        "{}",
        "\"\"",
        "1e999",
        "{\"type\":null}",
        "{\"type\":1}",
        "{\"type\":\"result\"}",
        "{\"type\":\"result\",\"is_error\":\"yes\"}",
        "{\"type\":\"turn.completed\",\"usage\":-1}",
        "{\"type\":\"assistant\",\"message\":\"hi\"}",
        "{\"type\":\"assistant\",\"message\":{\"content\":{}}}",
        "{\"type\":\"item.completed\",\"item\":{}}",
        "{\"id\":{},\"method\":\"x\"}",
        "{\"id\":99,\"error\":{\"message\":\"m\"}}",
        "{\"type\":\"a\",\"type\":\"b\"}",
        "{\"type\":\"\\ud800\"}",
        "\u{1b}]52;c;aGk=\u{7}",
        "data: {}",
        &deep,
        &wide,
    ];
    feed(&lines.map(str::to_owned), "\0\u{1b}[31m", 139);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn p11_truncated_and_shuffled_lines_still_end_the_turn(
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0.0f64..1.2), 1..30),
        stderr in ".{0,80}",
        code in 0i32..256,
    ) {
        let corpus = corpus();
        let truncate = |(pick, share): &(prop::sample::Index, f64)| {
            let line = pick.get(&corpus);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a length")]
            let at = (line.len() as f64 * share.min(1.0)) as usize;
            line[..line.floor_char_boundary(at)].to_owned()
        };
        let lines: Vec<String> = picks.iter().map(truncate).collect();
        feed(&lines, &stderr, code);
    }

    #[test]
    fn p11_arbitrary_text_still_ends_the_turn(lines in prop::collection::vec(any::<String>(), 0..10)) {
        feed(&lines, "", 0);
    }
}
