//! Responses from a cassette.

use parking_lot::Mutex;
use windlass_cassette::{Cassette, Exchange};

use super::key::RequestKey;

/// A cassette that is being played: each exchange is used once, and the last matching one is repeated.
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

    /// Returns the number of the recorded exchange, counted from 1, and the exchange. The error shows the
    /// closest recorded request.
    pub(crate) fn answer(
        &self,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> Result<(usize, Exchange), String> {
        let key = RequestKey::from_request(method, target, body);
        let mut slots = self.slots.lock();
        let same = |slot: &RecordedSlot| slot.key == key;
        let found = slots
            .iter()
            .position(|slot| same(slot) && !slot.played)
            .or_else(|| slots.iter().rposition(same))
            .or_else(|| find_similar(&key, &slots));
        match found {
            Some(index) => {
                slots[index].played = true;
                Ok((index + 1, slots[index].exchange.clone()))
            }
            None => Err(miss_message(&key, &slots)),
        }
    }
}

/// The minimum similarity of two requests, in thousandths, to be treated as the same.
const MIN_SIMILARITY: u64 = 750;

/// Finds the recorded request that differs only in changing tool output, such as ids and durations.
///
/// This applies only after the first answer: a prompt must match exactly.
fn find_similar(key: &RequestKey, slots: &[RecordedSlot]) -> Option<usize> {
    let text = key.follow_up_text()?;
    let rank = |slot: &RecordedSlot| {
        let recorded = slot
            .key
            .follow_up_text()
            .filter(|_| slot.key.is_same_turn(key) && !slot.played)?;
        Some(similarity(recorded, text))
    };
    let ranked = slots
        .iter()
        .enumerate()
        .filter_map(|(index, slot)| Some((rank(slot)?, index)));
    // Of two equally similar requests, the one recorded first wins.
    let best = ranked.max_by_key(|(rank, index)| (*rank, std::cmp::Reverse(*index)))?;
    (best.0 >= MIN_SIMILARITY).then_some(best.1)
}

/// Returns the error message for a missing request, with the most similar recorded one.
fn miss_message(key: &RequestKey, slots: &[RecordedSlot]) -> String {
    let wanted = key.label();
    match slots
        .iter()
        .max_by_key(|slot| similarity(&slot.key.label(), &wanted))
    {
        None => format!("the cassette is empty; requested:\n+ {wanted}"),
        Some(nearest) => format!(
            "the cassette has no recording of this request: record it again. \
             Closest recorded request (-), this request (+):\n- {}\n+ {wanted}",
            nearest.key.label()
        ),
    }
}

/// Returns the similarity in thousandths, as an integer that can be compared. Only the start counts, because
/// the cost is quadratic in the length.
fn similarity(one: &str, other: &str) -> u64 {
    let start = |text: &str| text.chars().take(400).collect::<String>();
    (strsim::normalized_damerau_levenshtein(&start(one), &start(other)) * 1000.0) as u64
}
