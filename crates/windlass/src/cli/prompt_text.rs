//! Reads the text of a prompt from an argument or from stdin.

use std::io::Read;

use windlass_core::limits::PROMPT_BYTES;

use super::exit::CliError;

/// Returns the prompt: the argument, or stdin if the argument is `-`.
pub(super) fn read(argument: String, input: impl Read) -> Result<String, CliError> {
    read_named("prompt", argument, input)
}

/// Like [`read`], for a text that the user knows by another name.
pub(super) fn read_named(
    name: &str,
    argument: String,
    input: impl Read,
) -> Result<String, CliError> {
    let text = if argument == "-" {
        from_input(input)?
    } else {
        argument
    };
    if text.trim().is_empty() {
        return Err(CliError::usage(format!(
            "the {name} is empty: pass a {name}, or - to read it from stdin"
        )));
    }
    Ok(text)
}

fn from_input(input: impl Read) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    input
        .take(PROMPT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::usage(format!("stdin cannot be read: {error}")))?;
    if bytes.len() > PROMPT_BYTES {
        return Err(CliError::usage(format!(
            "the prompt on stdin has more than {PROMPT_BYTES} bytes: put the text into a file and name the file in the prompt"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::usage(format!(
            "the prompt on stdin is not UTF-8 at byte {at}: convert it first"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(argument: &str, input: &[u8]) -> String {
        format!("{:?}", read(argument.to_owned(), input).unwrap_err())
    }

    #[test]
    fn prompt_is_read_from_argument_or_stdin() {
        assert_eq!(read("hello".to_owned(), &b""[..]).unwrap(), "hello");
        assert_eq!(
            read("-".to_owned(), &b"from stdin\n"[..]).unwrap(),
            "from stdin\n"
        );
        assert!(error_of(" ", b"").contains("is empty"));
        assert!(error_of("-", b"").contains("is empty"));
        assert!(error_of("-", b"ab\xff").contains("not UTF-8 at byte 2"));
        assert!(error_of("-", &vec![b'x'; PROMPT_BYTES + 1]).contains("more than"));
    }
}
