//! The words of a text: identifiers whole and in parts, in one form whatever their case or number.
//!
//! A word is kept as a hash of 32 bits. Two different words fall together once in billions, and an index without a
//! dictionary can be built by many threads and changed file by file.

/// A word, by its hash.
pub(crate) type WordHash = u32;

/// Shorter parts of identifiers say nothing.
const MIN_PART_LEN: usize = 2;
/// What is longer is data, not a word.
const MAX_WORD_LEN: usize = 48;

/// Gives every word of the text with how it was written: each identifier whole, and its parts where it has several.
pub(crate) fn for_each_word(text: &[u8], mut each: impl FnMut(WordHash, &[u8])) {
    let mut buffer = Vec::with_capacity(MAX_WORD_LEN);
    for token in text.split(|byte| !is_part(*byte)) {
        of_token(token, &mut buffer, &mut each);
    }
}

/// The hash of a name exactly as it is written.
pub(crate) fn hash_name(name: &[u8]) -> WordHash {
    hash(name)
}

fn of_token(token: &[u8], buffer: &mut Vec<u8>, each: &mut impl FnMut(WordHash, &[u8])) {
    if token.len() < MIN_PART_LEN
        || token
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'_')
    {
        return;
    }
    let mut parts = 0;
    let mut start = 0;
    for at in 1..=token.len() {
        if at < token.len() && !breaks(token, at) {
            continue;
        }
        let part = trim(&token[start..at]);
        start = at;
        if part.is_empty() {
            continue;
        }
        parts += 1;
        if (MIN_PART_LEN..=MAX_WORD_LEN).contains(&part.len()) && part.len() < token.len() {
            each(hash_stem(part, buffer), part);
        }
    }
    let whole = trim(token);
    if (MIN_PART_LEN..=MAX_WORD_LEN).contains(&whole.len())
        && (parts > 1 || whole.len() == token.len())
    {
        each(hash_stem(whole, buffer), whole);
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn trim(part: &[u8]) -> &[u8] {
    let start = part.iter().take_while(|byte| **byte == b'_').count();
    let end = part.iter().rev().take_while(|byte| **byte == b'_').count();
    part.get(start..part.len() - end).unwrap_or_default()
}

/// Whether a new part begins here: after an underscore, at a capital after a small letter, and at the last capital of
/// several before a small letter.
fn breaks(token: &[u8], at: usize) -> bool {
    let (before, here) = (token[at - 1], token[at]);
    if (before == b'_') != (here == b'_') {
        return true;
    }
    if !here.is_ascii_uppercase() {
        return false;
    }
    let next_is_small = token.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    before.is_ascii_lowercase()
        || before.is_ascii_digit()
        || (before.is_ascii_uppercase() && next_is_small)
}

/// The hash of a word in its one form: small letters, without the endings of number and tense.
fn hash_stem(word: &[u8], buffer: &mut Vec<u8>) -> WordHash {
    buffer.clear();
    buffer.extend(word.iter().map(u8::to_ascii_lowercase));
    hash(stem(buffer))
}

/// Takes off the endings that tell one use of a word from another. It need not be right, only the same everywhere.
fn stem(word: &[u8]) -> &[u8] {
    if word.contains(&b'_') || word.len() < 4 {
        return word;
    }
    let cut = |count: usize| &word[..word.len() - count];
    let mut stem = match word {
        [.., b'i', b'e', b's'] if word.len() > 4 => cut(2),
        [.., b's', b's'] | [.., b'u', b's'] | [.., b'i', b's'] => word,
        [.., b's'] => cut(1),
        _ => word,
    };
    stem = match stem {
        [.., b'i', b'n', b'g'] if stem.len() > 5 => &stem[..stem.len() - 3],
        [.., b'e', b'd'] if stem.len() > 4 => &stem[..stem.len() - 2],
        [.., b'e'] if stem.len() > 4 => &stem[..stem.len() - 1],
        [.., b'y'] if stem.len() > 4 => &stem[..stem.len() - 1],
        [.., b'i'] if stem.len() > 4 => &stem[..stem.len() - 1],
        _ => stem,
    };
    match stem {
        // A doubled letter before an ending: "mapped", "running".
        [.., a, b] if a == b && stem.len() > 3 && stem.len() + 1 < word.len() => {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

/// FNV-1a of 64 bits, folded: the same on every machine and in every version.
fn hash(bytes: &[u8]) -> WordHash {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}
