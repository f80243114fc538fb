//! Splits text into words: whole identifiers and their parts, normalized in case and number.
//!
//! A word is stored as a 32-bit hash. Collisions are very rare, and an index without a dictionary can be
//! built by many threads and updated file by file.

/// Hash of a word.
pub(crate) type WordHash = u32;

/// Minimum length of a word; shorter parts of identifiers are not useful.
const MIN_PART_LEN: usize = 2;
/// Maximum length of a word; longer tokens are data.
const MAX_WORD_LEN: usize = 48;

/// Calls `each` for every word of the text with its hash and spelling: each whole identifier, and its parts
/// if it has several.
pub(crate) fn for_each_word(text: &[u8], mut each: impl FnMut(WordHash, &[u8])) {
    let mut buffer = Vec::with_capacity(MAX_WORD_LEN);
    for token in text.split(|byte| !IS_PART[usize::from(*byte)]) {
        for_each_part(token, &mut buffer, &mut each);
    }
}

/// Finds the words of texts, without their spellings. It remembers the words of frequent tokens: most of a text is made
/// of few.
#[derive(Debug)]
pub(crate) struct WordScanner {
    slots: Vec<TokenWords>,
    buffer: Vec<u8>,
}

/// The words of one token.
#[derive(Debug, Clone, Copy, Default)]
struct TokenWords {
    /// The token, followed by zeros. No token has a zero.
    token: [u64; 3],
    words: [WordHash; 6],
    count: usize,
}

impl WordScanner {
    const SLOT_BITS: u32 = 12;

    pub(crate) fn new() -> Self {
        Self {
            slots: vec![TokenWords::default(); 1 << Self::SLOT_BITS],
            buffer: Vec::with_capacity(MAX_WORD_LEN),
        }
    }

    /// Calls `each` for every word of the text, like [`for_each_word`].
    pub(crate) fn scan(&mut self, text: &[u8], mut each: impl FnMut(WordHash)) {
        for token in text.split(|byte| !IS_PART[usize::from(*byte)]) {
            if token.len() < MIN_PART_LEN {
                continue;
            }
            let Some(key) = token_key(token) else {
                for_each_part(token, &mut self.buffer, &mut |word, _| each(word));
                continue;
            };
            let slot = &mut self.slots[slot_of(key, Self::SLOT_BITS)];
            if slot.token != key {
                let mut found = TokenWords {
                    token: key,
                    ..TokenWords::default()
                };
                for_each_part(token, &mut self.buffer, &mut |word, _| {
                    if let Some(free) = found.words.get_mut(found.count) {
                        *free = word;
                    }
                    found.count += 1;
                });
                if found.count > found.words.len() {
                    for_each_part(token, &mut self.buffer, &mut |word, _| each(word));
                    continue;
                }
                *slot = found;
            }
            for word in &slot.words[..slot.count] {
                each(*word);
            }
        }
    }
}

/// Returns a short token as numbers, which are faster to compare.
fn token_key(token: &[u8]) -> Option<[u64; 3]> {
    let mut bytes = [[0; 8]; 3];
    bytes
        .as_flattened_mut()
        .get_mut(..token.len())?
        .copy_from_slice(token);
    Some(bytes.map(u64::from_le_bytes))
}

fn slot_of(key: [u64; 3], bits: u32) -> usize {
    let mixed = key[0] ^ key[1].rotate_left(23) ^ key[2].rotate_left(47);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}

fn for_each_part(token: &[u8], buffer: &mut Vec<u8>, each: &mut impl FnMut(WordHash, &[u8])) {
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
        if at < token.len() && !starts_part(token, at) {
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

/// For each byte, whether it is part of a token.
const IS_PART: [bool; 256] = {
    let mut is_part = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_part[byte] =
            (byte as u8).is_ascii_alphanumeric() || byte == b'_' as usize || byte >= 0x80;
        byte += 1;
    }
    is_part
};

fn trim(part: &[u8]) -> &[u8] {
    let start = part.iter().take_while(|byte| **byte == b'_').count();
    let end = part.iter().rev().take_while(|byte| **byte == b'_').count();
    part.get(start..part.len() - end).unwrap_or_default()
}

/// Returns `true` if a new part starts here: after an underscore, at an uppercase letter after a lowercase
/// letter, and at the last of several uppercase letters before a lowercase letter.
fn starts_part(token: &[u8], at: usize) -> bool {
    let (before, here) = (token[at - 1], token[at]);
    if (before == b'_') != (here == b'_') {
        return true;
    }
    if !here.is_ascii_uppercase() {
        return false;
    }
    let next_is_lowercase = token.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    before.is_ascii_lowercase()
        || before.is_ascii_digit()
        || (before.is_ascii_uppercase() && next_is_lowercase)
}

/// Returns the hash of the stem of a word: lowercase, without the endings of number and tense.
fn hash_stem(word: &[u8], buffer: &mut Vec<u8>) -> WordHash {
    buffer.clear();
    buffer.extend(word.iter().map(u8::to_ascii_lowercase));
    hash(stem(buffer))
}

/// Removes common endings. The stem need not be correct, only the same everywhere.
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

/// 64-bit FNV-1a, folded to 32 bits: the same on every machine and in every version.
fn hash(bytes: &[u8]) -> WordHash {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::BagBuilder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scanner_finds_the_words_of_a_text(texts in prop::collection::vec("[aA1_ é]{0,40}|\\PC{0,40}", 1..8)) {
            let mut scanner = WordScanner::new();
            // The second round finds the tokens of the first.
            for text in texts.iter().chain(&texts) {
                let (mut counted, mut expected) = (BagBuilder::default(), BagBuilder::default());
                scanner.scan(text.as_bytes(), |word| counted.add(word));
                for_each_word(text.as_bytes(), |word, _| expected.add(word));
                let (mut one, mut other) = (Vec::new(), Vec::new());
                counted.pack(&mut one);
                expected.pack(&mut other);
                prop_assert_eq!(one, other);
            }
        }
    }
}
