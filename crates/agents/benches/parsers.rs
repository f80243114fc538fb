//! Throughput of each parser on all recordings of its agent.

use std::path::Path;

use divan::Bencher;
use divan::counter::BytesCount;
use windlass_agents::cli::Parser;
use windlass_agents::cli::claude::StreamJson;
use windlass_agents::cli::codex::ExecParser;
use windlass_agents::cli::cursor::CursorParser;

fn main() {
    divan::main();
}

/// Returns the lines of all one-way recordings of an agent, repeated to get a measurable duration.
fn lines(agent: &str) -> Vec<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(agent);
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let one_way = !name.starts_with("appserver-") && !name.starts_with("stdio-");
        let included = name.ends_with(".jsonl") && one_way;
        included
            .then(|| std::fs::read_to_string(file.path()).ok())
            .flatten()
    });
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    vec![lines; 20].concat()
}

fn parse(bencher: Bencher<'_, '_>, agent: &str, parser: impl Fn() -> Box<dyn Parser> + Sync) {
    let lines = lines(agent);
    let bytes: usize = lines.iter().map(String::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        let mut parser = parser();
        for line in &lines {
            divan::black_box(parser.parse_line(line));
        }
    });
}

#[divan::bench]
fn codex(bencher: Bencher<'_, '_>) {
    parse(bencher, "codex", || Box::new(ExecParser::new(1, None)));
}

#[divan::bench]
fn claude(bencher: Bencher<'_, '_>) {
    parse(bencher, "claude", || Box::new(StreamJson::claude(None)));
}

#[divan::bench]
fn qwen(bencher: Bencher<'_, '_>) {
    parse(bencher, "qwen", || Box::new(StreamJson::qwen(None)));
}

#[divan::bench]
fn cursor(bencher: Bencher<'_, '_>) {
    parse(bencher, "cursor", || Box::new(CursorParser::default()));
}

/// The baseline: a parser that only parses the JSON.
#[divan::bench]
fn json_only(bencher: Bencher<'_, '_>) {
    let lines = lines("claude");
    let bytes: usize = lines.iter().map(String::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        for line in &lines {
            let _ = divan::black_box(serde_json::from_str::<serde_json::Value>(line));
        }
    });
}
