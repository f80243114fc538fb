//! The example `custom_backend` works.

#[test]
fn custom_backend_example_emits_events() {
    let program = assert_cmd::cargo::cargo_bin("windlass");
    let example = program.with_file_name("examples").join("custom_backend");
    let output = assert_cmd::Command::new(example).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, event) in lines.iter().zip([
        r#"{"type":"Text","text":"HAUL "}"#,
        r#"{"type":"Text","text":"AWAY!"}"#,
        r#"{"type":"Result","text":"HAUL AWAY!""#,
    ]) {
        assert!(line.contains(event), "{lines:?}");
    }
}
