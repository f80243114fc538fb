//! Where a prompt's text comes from.

use std::io::Read;

use windlass_core::limits::PROMPT_BYTES;

use super::exit::CliError;

/// The prompt that an argument means: itself, or standard input for `-`.
pub(super) fn read(argument: String, input: impl Read) -> Result<String, CliError> {
    let text = if argument == "-" {
        from_input(input)?
    } else {
        argument
    };
    if text.trim().is_empty() {
        return Err(CliError::usage(
            "the prompt is empty: say what the agent should do, or pass - to read it from stdin",
        ));
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
            "the prompt on stdin has more than {PROMPT_BYTES} bytes: put the material into a file and name it"
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

    fn refused(argument: &str, input: &[u8]) -> String {
        format!("{:?}", read(argument.to_owned(), input).unwrap_err())
    }

    #[test]
    fn a_prompt_is_the_argument_or_stdin() {
        assert_eq!(read("hello".to_owned(), &b""[..]).unwrap(), "hello");
        assert_eq!(
            read("-".to_owned(), &b"from stdin\n"[..]).unwrap(),
            "from stdin\n"
        );
        assert!(refused(" ", b"").contains("is empty"));
        assert!(refused("-", b"").contains("is empty"));
        assert!(refused("-", b"ab\xff").contains("not UTF-8 at byte 2"));
        assert!(refused("-", &vec![b'x'; PROMPT_BYTES + 1]).contains("more than"));
    }
}
