//! `fs_read`: reads a file or some of its lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::limits::OUTPUT_BYTES;
use windlass_core::{ToolKind, ToolOutput};
use windlass_workspace::paths::{PathError, Root};

use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;
use crate::truncate;

/// The arguments of `fs_read`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The file, relative to the workspace.
    path: String,
    /// The first line to read, counted from 1. Omit it to start at the beginning.
    start_line: Option<u64>,
    /// How many lines to read. Omit it to read all.
    max_lines: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct FsRead(pub(crate) Root);

impl ToolHandler for FsRead {
    const NAME: &'static str = "fs_read";
    const DESCRIPTION: &'static str =
        "Read a UTF-8 text file of the workspace, completely or some of its lines.";
    const KIND: ToolKind = ToolKind::Read;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move {
            let read = move || match (input.start_line, input.max_lines) {
                (None, None) => fs_read(&root, &input.path),
                (start, count) => read_lines(&root, &input.path, start.unwrap_or(1), count),
            };
            Ok(blocking(read).await??.into())
        })
    }
}

/// Returns the text of a file. A long file is truncated to its head and tail.
pub fn fs_read(root: &Root, path: &str) -> Result<FSResult, PathError> {
    read_or_error(path, root.open_file(path), |file| {
        read_whole(file, OUTPUT_BYTES)
    })
}

fn read_lines(
    root: &Root,
    path: &str,
    start: u64,
    count: Option<u64>,
) -> Result<FSResult, PathError> {
    let count = count.unwrap_or(u64::MAX);
    read_or_error(path, root.open_file(path), |file| lines(file, start, count))
}

/// Returns the text, or the reason why it could not be read.
fn read_or_error(
    path: &str,
    file: Result<File, PathError>,
    read: impl FnOnce(File) -> std::io::Result<Option<String>>,
) -> Result<FSResult, PathError> {
    let file = match file {
        Ok(file) => file,
        Err(error) => return FSResult::from_path_error("read", error),
    };
    Ok(match read(file) {
        Ok(Some(text)) => FSResult::done(text),
        Ok(None) => FSResult::failed(format!("read: not UTF-8 text: {path}")),
        Err(error) => FSResult::failed(format!("read: {path}: {error}")),
    })
}

fn read_whole(mut file: File, limit: usize) -> std::io::Result<Option<String>> {
    let mut head = Vec::new();
    (&mut file).take(limit as u64 + 1).read_to_end(&mut head)?;
    if head.len() <= limit {
        return Ok(String::from_utf8(head).ok());
    }
    let (front, back) = (limit - limit / 2, limit / 2);
    head.truncate(front);
    let end = file.metadata()?.len();
    let from = end.saturating_sub(back as u64).max(front as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(back as u64).read_to_end(&mut tail)?;
    Ok(join_ends(&head, from, &tail))
}

/// Joins both ends as text, without characters that were split by the truncation.
fn join_ends(head: &[u8], tail_from: u64, tail: &[u8]) -> Option<String> {
    let head_text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let partial = tail
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    let tail_text = std::str::from_utf8(&tail[partial..]).ok()?;
    let cut = tail_from + partial as u64 - head_text.len() as u64;
    Some(truncate::join(head_text, cut, tail_text))
}

fn lines(file: File, start: u64, count: u64) -> std::io::Result<Option<String>> {
    let mut reader = BufReader::new(file);
    for _ in 1..start {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(Some(format!("[the file ends before line {start}]")));
        }
    }
    let mut text = Vec::new();
    for _ in 0..count {
        let remaining = (OUTPUT_BYTES - text.len()) as u64;
        let read = (&mut reader).take(remaining).read_until(b'\n', &mut text)?;
        if text.len() == OUTPUT_BYTES {
            let text = String::from_utf8_lossy(&text).into_owned();
            return Ok(Some(format!("{text}[… cut at {OUTPUT_BYTES} bytes …]")));
        }
        if read == 0 {
            break;
        }
    }
    Ok(String::from_utf8(text).ok())
}
