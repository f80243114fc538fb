//! Properties that must hold for any bytes. The regular tests run them on the corpora.

use windlass_cassette::{Cassette, Normalizer, Substitutions};

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
