//! What must hold for any bytes whatever. The plain tests run it over the corpora.

use windlass_core::cassette::{Cassette, Normalizer, Substitutions};
use windlass_core::{escape_control, escape_line};

/// Panics if a cassette that can be read is not written as it was read, or changes when it is normalised twice.
pub fn cassette(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(mut cassette) = Cassette::parse(text) else {
        return;
    };
    let written = cassette.to_jsonl().expect("what was read can be written");
    let again = Cassette::parse(&written).expect("what was written can be read");
    assert_eq!(again, cassette);

    let places = Substitutions::new()
        .workspace("/home/me/shop")
        .home("/home/me");
    Normalizer::new(&places).normalize_cassette(&mut cassette);
    let once = cassette.clone();
    Normalizer::new(&places).normalize_cassette(&mut cassette);
    assert_eq!(cassette, once);
}

/// Panics if a character that commands or hides is shown as it is.
pub fn shown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let commands = |c: char| c.is_control() && c != '\t' && c != '\n';
    assert!(!escape_control(&text).contains(commands));
    assert!(!escape_line(&text).contains(char::is_control));
}
