//! Texts that are made to hurt.

use proptest::prelude::*;

use super::super::extract::extract;

proptest! {
    #[test]
    fn no_text_does_harm(text in any::<String>(), arrays in any::<bool>()) {
        let _ = extract(&text, arrays);
    }

    #[test]
    fn no_heap_of_brackets_does_harm(text in r#"[{}\[\]",:\\ax1 \n`]{0,300}"#, arrays in any::<bool>()) {
        let _ = extract(&text, arrays);
    }
}

/// Twice the text takes about twice as long; if it took its square, these would run for minutes.
#[test]
fn work_grows_with_the_text_and_not_with_its_square() {
    const LENGTH: usize = 128 << 10;
    let pieces = [
        "{",
        "[",
        "{x",
        "[[",
        "{\"",
        "[\"",
        "{\"a\":",
        "[1,",
        "{}{",
        "{x\"\\\"",
        "{x}",
        "[x",
        "{x\"",
        "\"{",
        "\\\"{",
        ",",
        "{\"a\":1,",
        "[,",
        "`",
        "```\n{",
    ];
    for piece in pieces {
        let text = piece.repeat(LENGTH / piece.len());
        for arrays in [false, true] {
            let _ = extract(&text, arrays);
        }
    }
}
