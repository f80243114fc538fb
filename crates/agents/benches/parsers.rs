//! How fast each parser reads what its agent really said: all recordings of the agent in one go.

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

/// The lines of every recording in one direction, often enough to be worth measuring.
fn lines(agent: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(agent);
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let one_way = !name.starts_with("appserver-") && !name.starts_with("stdio-");
        let wanted = name.ends_with(".jsonl") && one_way;
        wanted
            .then(|| std::fs::read_to_string(file.path()).ok())
            .flatten()
    });
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    vec![lines; 20].concat()
}

fn read(bencher: Bencher<'_, '_>, agent: &str, parser: impl Fn() -> Box<dyn Parser> + Sync) {
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
    read(bencher, "codex", || Box::new(ExecParser::new(1, None)));
}

#[divan::bench]
fn claude(bencher: Bencher<'_, '_>) {
    read(bencher, "claude", || Box::new(StreamJson::claude(None)));
}

#[divan::bench]
fn qwen(bencher: Bencher<'_, '_>) {
    read(bencher, "qwen", || Box::new(StreamJson::qwen(None)));
}

#[divan::bench]
fn cursor(bencher: Bencher<'_, '_>) {
    read(bencher, "cursor", || Box::new(CursorParser::default()));
}

/// What a parser that does nothing but read the JSON would take: the measure for the others.
#[divan::bench]
fn json_alone(bencher: Bencher<'_, '_>) {
    let lines = lines("claude");
    let bytes: usize = lines.iter().map(String::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        for line in &lines {
            let _ = divan::black_box(serde_json::from_str::<serde_json::Value>(line));
        }
    });
}
