//! Reads the paths of submodules from a git index. Pure.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The type of an entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;
const TYPE_MASK: u32 = 0o170_000;
/// Marks an entry with a second word of flags.
const EXTENDED: u16 = 0x4000;
/// The bytes of an entry before its object ID: times, device, inode, mode, owner, size.
const STAT_BYTES: usize = 40;
const MODE_OFFSET: usize = 24;

/// Returns the paths of all submodules. An index of an unknown format has none.
pub(super) fn gitlinks(index: &[u8]) -> Vec<PathBuf> {
    // The hash is SHA-1 in almost every repository, otherwise SHA-256.
    entries(index, 20)
        .or_else(|| entries(index, 32))
        .unwrap_or_default()
}

fn entries(index: &[u8], hash_bytes: usize) -> Option<Vec<PathBuf>> {
    let version = u32_at(index, 4)?;
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let count = u32_at(index, 8)?;
    let mut found = Vec::new();
    let mut name: Vec<u8> = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let start = at;
        let mode = u32_at(index, start + MODE_OFFSET)?;
        if !matches!(
            mode & TYPE_MASK,
            0o100_000 | 0o120_000 | 0o040_000 | GITLINK
        ) {
            return None;
        }
        at += STAT_BYTES + hash_bytes;
        let flags = u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?);
        at += if flags & EXTENDED != 0 { 4 } else { 2 };
        if version == 4 {
            let (removed, used) = varint(index.get(at..)?)?;
            at += used;
            name.truncate(name.len().checked_sub(removed)?);
        } else {
            name.clear();
        }
        let length = memchr::memchr(0, index.get(at..)?)?;
        name.extend_from_slice(&index[at..at + length]);
        at += length;
        // Older versions pad an entry with one to eight NULs.
        at = match version {
            4 => at + 1,
            _ => start + (at - start + 8) / 8 * 8,
        };
        if mode & TYPE_MASK == GITLINK {
            found.push(OsStr::from_bytes(&name).into());
        }
    }
    Some(found)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Decodes git's number of variable length. Returns the number and the bytes that it took.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut used = 1;
    while bytes[used - 1] & 0x80 != 0 {
        let next = bytes.get(used)?;
        value = value
            .checked_add(1)?
            .checked_mul(128)?
            .checked_add(usize::from(next & 0x7f))?;
        used += 1;
    }
    Some((value, used))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gitlinks_are_found_in_every_version() {
        for version in [2_u8, 3, 4] {
            let index = sample(version);
            assert_eq!(
                gitlinks(&index),
                [PathBuf::from("libs/one"), PathBuf::from("libs/onetwo")],
                "version {version}"
            );
        }
    }

    /// Builds an index with a file and two submodules.
    fn sample(version: u8) -> Vec<u8> {
        let mut index = b"DIRC\0\0\0".to_vec();
        index.push(version);
        index.extend(4_u32.to_be_bytes());
        let mut last = "";
        for (name, mode) in [
            ("a file", 0o100_644_u32),
            ("libs/one", 0o160_000),
            ("libs/onetwo", 0o160_000),
            ("z", 0o120_000),
        ] {
            let start = index.len();
            index.extend([0; MODE_OFFSET]);
            index.extend(mode.to_be_bytes());
            index.extend([7; 12 + 20]);
            let extended = version > 2;
            let flags = u16::try_from(name.len()).unwrap() | if extended { EXTENDED } else { 0 };
            index.extend(flags.to_be_bytes());
            if extended {
                index.extend([0; 2]);
            }
            if version == 4 {
                let common = name
                    .bytes()
                    .zip(last.bytes())
                    .take_while(|(a, b)| a == b)
                    .count();
                index.push(u8::try_from(last.len() - common).unwrap());
                index.extend(&name.as_bytes()[common..]);
                index.push(0);
            } else {
                index.extend(name.as_bytes());
                let padding = 8 - (index.len() - start) % 8;
                index.extend(vec![0; padding]);
            }
            last = name;
        }
        index
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(bytes in proptest::collection::vec(any::<u8>(), 0..200), version in 2_u8..=4) {
            let mut index = b"DIRC\0\0\0".to_vec();
            index.push(version);
            index.extend(bytes);
            let _ = gitlinks(&index);
            let sample = sample(version);
            let cut = index.len().min(sample.len());
            prop_assert!(gitlinks(&sample[..cut]).len() <= 2);
        }
    }
}
