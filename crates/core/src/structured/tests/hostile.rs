//! Extraction from hostile text.

use proptest::prelude::*;

use super::super::extract::extract;

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in any::<String>(), arrays in any::<bool>()) {
        let _ = extract(&text, arrays);
    }

    #[test]
    fn random_brackets_do_not_panic(text in r#"[{}\[\]",:\\ax1 \n`]{0,300}"#, arrays in any::<bool>()) {
        let _ = extract(&text, arrays);
    }
}

/// The run time must be about linear in the length of the text. With quadratic time this would take minutes.
#[test]
fn extraction_time_is_linear() {
    const LENGTH: usize = 128 << 10;
    let patterns = [
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
    for pattern in patterns {
        let text = pattern.repeat(LENGTH / pattern.len());
        for arrays in [false, true] {
            let _ = extract(&text, arrays);
        }
    }
}
