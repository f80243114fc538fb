//! Answers requests from a cassette.

use std::sync::{Mutex, PoisonError};

use windlass_core::cassette::{Cassette, Exchange};

use super::key::RequestKey;

/// A cassette while it is played: each exchange answers once, and the last of its kind goes on answering.
#[derive(Debug)]
pub(crate) struct CassettePlayer {
    slots: Mutex<Vec<RecordedSlot>>,
}

#[derive(Debug)]
struct RecordedSlot {
    key: RequestKey,
    exchange: Exchange,
    played: bool,
}

impl CassettePlayer {
    pub(crate) fn new(cassette: &Cassette) -> Self {
        let slot = |exchange: &Exchange| RecordedSlot {
            key: RequestKey::from_exchange(exchange),
            exchange: exchange.clone(),
            played: false,
        };
        Self {
            slots: Mutex::new(cassette.exchanges().map(slot).collect()),
        }
    }

    /// The place, counted from 1, and the recorded exchange for this request; the error shows the nearest one.
    pub(crate) fn answer(
        &self,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> Result<(usize, Exchange), String> {
        let key = RequestKey::from_request(method, target, body);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |slot: &RecordedSlot| slot.key == key;
        let found = slots
            .iter()
            .position(|slot| same(slot) && !slot.played)
            .or_else(|| slots.iter().rposition(same))
            .or_else(|| find_similar(&key, &slots));
        match found {
            Some(place) => {
                slots[place].played = true;
                Ok((place + 1, slots[place].exchange.clone()))
            }
            None => Err(miss_message(&key, &slots)),
        }
    }
}

/// How like two requests must be, in thousandths, to be taken for the same.
const MIN_SIMILARITY: u64 = 750;

/// The recorded request that differs only in what tools print anew each time, such as ids and durations.
///
/// That is for what comes after the first answer: a prompt is the same or it is not.
fn find_similar(key: &RequestKey, slots: &[RecordedSlot]) -> Option<usize> {
    let wanted = key.follow_up_text()?;
    let rank = |slot: &RecordedSlot| {
        let words = slot
            .key
            .follow_up_text()
            .filter(|_| slot.key.is_same_turn(key) && !slot.played)?;
        Some(similarity(words, wanted))
    };
    let ranked = slots
        .iter()
        .enumerate()
        .filter_map(|(place, slot)| Some((rank(slot)?, place)));
    // Of two that are equally like, the one that was recorded first.
    let best = ranked.max_by_key(|(rank, place)| (*rank, std::cmp::Reverse(*place)))?;
    (best.0 >= MIN_SIMILARITY).then_some(best.1)
}

/// What is missing, beside the recorded request that is most like it.
fn miss_message(key: &RequestKey, slots: &[RecordedSlot]) -> String {
    let wanted = key.label();
    match slots
        .iter()
        .max_by_key(|slot| similarity(&slot.key.label(), &wanted))
    {
        None => format!("the cassette is empty; this was asked:\n+ {wanted}"),
        Some(nearest) => format!(
            "the cassette does not hold this request: record it anew. From the nearest (-) to this one (+):\n- {}\n+ {wanted}",
            nearest.key.label()
        ),
    }
}

/// In thousandths, so that it can be compared. Only the beginning counts: the effort grows with the square of the length.
fn similarity(one: &str, other: &str) -> u64 {
    let start = |words: &str| words.chars().take(400).collect::<String>();
    (strsim::normalized_damerau_levenshtein(&start(one), &start(other)) * 1000.0) as u64
}
