//! Converts the content blocks of a prompt to text. Pure.

use std::borrow::Cow;

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use windlass_core::{Error, Result};

/// Returns the prompt as text. Linked files are named; embedded files are quoted.
pub(crate) fn text(blocks: &[ContentBlock]) -> Result<String> {
    let mut text = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(part) => text.push_str(&part.text),
            ContentBlock::ResourceLink(link) => text.push_str(&file_path(&link.uri)),
            ContentBlock::Resource(embedded) => match &embedded.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    quote(&mut text, &file_path(&resource.uri), &resource.text);
                }
                _ => return Err(unsupported("embedded binary files")),
            },
            ContentBlock::Image(_) => return Err(unsupported("images")),
            ContentBlock::Audio(_) => return Err(unsupported("audio")),
            _ => return Err(unsupported("this kind of content")),
        }
    }
    Ok(text)
}

/// Returns the first line of a prompt, as the title of a session.
pub(crate) fn title(text: &str) -> String {
    const LENGTH: usize = 80;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Returns the path of a `file` URI, and other URIs unchanged.
fn file_path(uri: &str) -> Cow<'_, str> {
    let Some(path) = uri.strip_prefix("file://") else {
        return Cow::Borrowed(uri);
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code.filter(|_| *byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(path), Cow::Owned)
}

/// Appends a quoted file. The fence is longer than every fence in the file.
fn quote(text: &mut String, path: &str, content: &str) {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    text.push_str(&format!("\n{path}:\n{fence}\n{content}"));
    if !content.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("{fence}\n"));
}

fn unsupported(what: &str) -> Error {
    Error::InvalidInput(format!(
        "{what} are not supported in a prompt: save them to a file and name it"
    ))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{
        EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
    };

    use super::*;

    #[test]
    fn blocks_become_text() {
        let resource = TextResourceContents::new("a\n```\nb", "file:///w/a.md");
        let blocks = [
            ContentBlock::Text(TextContent::new("Look at ")),
            ContentBlock::ResourceLink(ResourceLink::new("b.rs", "file:///w/my%20b.rs")),
            ContentBlock::Text(TextContent::new(".")),
            ContentBlock::Resource(EmbeddedResource::new(
                EmbeddedResourceResource::TextResourceContents(resource),
            )),
        ];
        let expected = "Look at /w/my b.rs.\n/w/a.md:\n````\na\n```\nb\n````\n";
        assert_eq!(text(&blocks).unwrap(), expected);
        let image = ContentBlock::Image(ImageContent::new("AAAA", "image/png"));
        let error = text(&[image]).unwrap_err().to_string();
        assert!(error.starts_with("images are not supported"), "{error}");
    }

    #[test]
    fn title_is_the_first_line() {
        assert_eq!(title("\n  Fix it  \nplease"), "Fix it");
        assert_eq!(title(&"x".repeat(100)).chars().count(), 81);
        assert_eq!(title(""), "");
    }
}
