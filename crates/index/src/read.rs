//! Reads and parses the files that changed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cache::BlockRange;
use crate::record::{self, FileEntry, FileParser, FileRecord};
use crate::walk::{self, FoundFile, IndexLimits};
use crate::{Error, Result};

/// A file that was read, and its encoded record if its content is new.
pub(crate) type ReadFile = (FileEntry, Option<Vec<u8>>);

/// Reads and parses files on all cores. Files that were deleted in the meantime are skipped. Returns the data of a
/// file only if its content is new.
pub(crate) fn read_files(
    root: &Path,
    limits: &IndexLimits,
    files: Vec<(FoundFile, Option<FileEntry>)>,
) -> Result<Vec<ReadFile>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(files.len().div_ceil(16)).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut parser = FileParser::new();
        let mut read = Vec::new();
        while let Some((file, before)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(text) = walk::read(root, &file.path, limits) else {
                continue;
            };
            let content = record::content_hash(&text);
            let same = before.as_ref().filter(|known| known.content == content);
            read.push(if let Some(known) = same {
                let stamp = file.stamp;
                (
                    FileEntry {
                        stamp,
                        ..known.clone()
                    },
                    None,
                )
            } else {
                let record = FileRecord::read(file.path.clone(), &text, &mut parser);
                let entry = FileEntry {
                    path: file.path.clone(),
                    stamp: file.stamp,
                    content,
                    symbols: record.symbols.len() as u32,
                    block: BlockRange::default(),
                };
                (entry, Some(record.encode()))
            });
        }
        read
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut read = work();
        for other in others {
            let more = other.join();
            read.extend(more.map_err(|_| Error::Stopped("the parser panicked".into()))?);
        }
        Ok::<_, Error>(read)
    })
}
