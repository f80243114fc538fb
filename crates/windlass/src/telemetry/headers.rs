//! The headers of requests to a collector, in the format of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, with
//! percent-encoded values.

use windlass_core::SecretString;

/// Parses the headers in a variable. No error contains them: they are secret.
pub(super) fn parse(variable: &str, text: &str) -> Result<Vec<(String, SecretString)>, String> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let headers = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_valid = !name.is_empty() && name.bytes().all(is_token);
        let value = decode(value.trim())?;
        let is_visible = value
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
        (is_valid && is_visible).then(|| (name.to_ascii_lowercase(), SecretString::from(value)))
    });
    let headers: Option<Vec<_>> = headers.collect();
    headers.ok_or_else(|| {
        format!("{variable} must have headers as NAME=VALUE, separated by commas, with percent-encoded values")
    })
}

/// Replaces `%41` by `A`.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use windlass_core::ExposeSecret as _;

    use super::*;

    #[test]
    fn headers_are_read_in_the_standard_format() {
        let headers = parse("H", "Authorization=Bearer%20a%3Db, x-team = shop ,").unwrap();
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose_secret()))
            .collect();
        assert_eq!(
            headers,
            [("authorization", "Bearer a=b"), ("x-team", "shop")]
        );
        assert!(parse("H", "").unwrap().is_empty());
    }

    #[test]
    fn invalid_headers_are_refused_without_their_values() {
        for text in [
            "secret",
            "a b=secret",
            "=secret",
            "a=secret%0d%0ax: y",
            "a=secret%4",
            "a=secret%zz",
            "a=%ff",
        ] {
            let error = parse("MY_HEADERS", text).unwrap_err();
            assert!(
                error.contains("MY_HEADERS") && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
