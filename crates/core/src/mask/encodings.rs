//! The encodings in which a value can occur inside a text.

/// Returns the distinct forms of a secret inside other text: unchanged, in JSON, in a URL, in a shell command, in hex
/// and in base64.
pub fn secret_encodings(secret: &str) -> Vec<String> {
    let mut encodings = json_forms(secret);
    encodings.extend([
        percent_encode(secret, ""),
        percent_encode(secret, "").replace("%20", "+"),
        lower_case_percent(&percent_encode(secret, "")),
        shell_quote(secret),
        shell_escape(secret),
        hex(secret.as_bytes(), |byte| format!("{byte:02x}")),
        hex(secret.as_bytes(), |byte| format!("{byte:02X}")),
    ]);
    for offset in 0..3 {
        let standard = base64_inside(secret.as_bytes(), offset);
        encodings.push(standard.replace('+', "-").replace('/', "_"));
        encodings.push(standard);
    }
    // A secret of a few bytes has forms so short that they occur by chance.
    let shortest = secret.len().min(MIN_ENCODED_LEN);
    encodings.retain(|encoding| encoding.len() >= shortest);
    encodings.sort();
    encodings.dedup();
    encodings
}

/// The minimum length of an encoded form.
const MIN_ENCODED_LEN: usize = 8;

/// Returns the text unchanged, inside JSON, inside JSON inside JSON, and inside ASCII-only JSON.
pub fn json_forms(text: &str) -> Vec<String> {
    let once = json_escape(text);
    vec![text.to_owned(), json_escape(&once), json_ascii(&once), once]
}

/// Returns the text as the content of a JSON string.
pub fn json_escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn json_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

/// Percent-encodes everything but letters, digits, `-._~` and the characters in `keep`.
pub fn percent_encode(text: &str, keep: &str) -> String {
    let mut url = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        let is_kept = c.is_ascii() && keep.contains(c);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || is_kept {
            url.push(c);
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

/// Returns percent-encoded text with lower case digits.
fn lower_case_percent(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(part.len().min(2));
        lower.extend(["%", &code.to_ascii_lowercase(), rest]);
    }
    lower
}

/// Returns the content of a single-quoted shell word.
fn shell_quote(text: &str) -> String {
    text.replace('\'', "'\\''")
}

/// Returns a shell word without quotes, with a backslash before each special character.
fn shell_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_./:=@%+,".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn hex(bytes: &[u8], digits: impl Fn(u8) -> String) -> String {
    bytes.iter().map(|byte| digits(*byte)).collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the base64 characters that depend only on these bytes, if they start at this offset (0 to 2) of a group of
/// three bytes.
fn base64_inside(bytes: &[u8], offset: usize) -> String {
    let bits = bytes.len() * 8;
    // The first character boundary at or after the first bit.
    let first = (6 - (offset * 8) % 6) % 6;
    let sextet = |start: usize| {
        let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
        (start..start + 6).fold(0, |value, at| value << 1 | bit(at))
    };
    (first..bits)
        .step_by(6)
        .take_while(|start| start + 6 <= bits)
        .map(|start| char::from(BASE64[sextet(start)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_alignment() {
        // `printf 'correct horse battery' | base64`, with zero to two bytes in front.
        let secret = b"correct horse battery";
        for (offset, whole) in [
            (0, "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"),
            (1, "eGNvcnJlY3QgaG9yc2UgYmF0dGVyeQ=="),
            (2, "eHhjb3JyZWN0IGhvcnNlIGJhdHRlcnk="),
        ] {
            let inside = base64_inside(secret, offset);
            assert!(whole.contains(&inside), "{offset}: {inside}");
            assert!(inside.len() >= 26, "{offset}: {inside}");
        }
    }

    #[test]
    fn forms_of_a_secret_are_distinct() {
        let forms = secret_encodings("p@ss w'rd\"\u{e9}");
        for wanted in [
            "p@ss w'rd\"\u{e9}",
            "p@ss w'rd\\\"\u{e9}",
            "p@ss w'rd\\\"\\u00e9",
            "p%40ss%20w%27rd%22%C3%A9",
            "p%40ss+w%27rd%22%C3%A9",
            "p%40ss%20w%27rd%22%c3%a9",
            "p@ss w'\\''rd\"\u{e9}",
            "p@ss\\ w\\'rd\\\"\u{e9}",
            "70407373207727726422c3a9",
        ] {
            assert!(
                forms.iter().any(|form| form == wanted),
                "{wanted}: {forms:?}"
            );
        }
        let mut unique = forms.clone();
        unique.dedup();
        assert_eq!(unique, forms);
    }
}
