//! Properties that must hold for any bytes. The regular tests run them on the corpora.

use windlass_core::cassette::{Cassette, Normalizer, Substitutions};
use windlass_core::{escape_control, escape_line};

/// Panics if a parsed cassette changes when it is written and read again, or when it is normalized twice.
pub fn cassette(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(mut cassette) = Cassette::parse(text) else {
        return;
    };
    let written = cassette
        .to_jsonl()
        .expect("a parsed cassette can be written");
    let again = Cassette::parse(&written).expect("a written cassette can be parsed");
    assert_eq!(again, cassette);

    let substitutions = Substitutions::new()
        .workspace("/home/me/shop")
        .home("/home/me");
    Normalizer::new(&substitutions).normalize_cassette(&mut cassette);
    let once = cassette.clone();
    Normalizer::new(&substitutions).normalize_cassette(&mut cassette);
    assert_eq!(cassette, once);
}

/// Panics if escaped text still contains a control character.
pub fn escape(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let is_control = |c: char| c.is_control() && c != '\t' && c != '\n';
    assert!(!escape_control(&text).contains(is_control));
    assert!(!escape_line(&text).contains(char::is_control));
}
