//! How long a provider asks to wait, in its own words.

use std::time::Duration;

/// What stands before the time.
const PHRASES: [&str; 5] = [
    "again in ",
    "retry after ",
    "retry in ",
    "resets in ",
    "asked to wait ",
];
/// Units, longer names before their beginnings.
const UNITS: [(&str, f64); 6] = [
    ("ms", 0.001),
    ("milli", 0.001),
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// Returns the time to wait in a sentence such as `Try again in 1 day 2 hours.`
pub fn wait_in_text(text: &str) -> Option<Duration> {
    let lower = text.to_lowercase();
    let rest = PHRASES
        .iter()
        .find_map(|phrase| lower.split_once(phrase))?
        .1;
    parse_wait(rest)
}

/// Parses the time at the beginning of a text, such as `20ms`, `6m0s`, `2 hours and 3 minutes`, or a number of seconds.
pub fn parse_wait(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total: Option<f64> = None;
    while let Some((number, after)) = split_number(rest) {
        let after = after.trim_start();
        let Some((_, seconds)) = UNITS.iter().find(|(unit, _)| after.starts_with(unit)) else {
            // A number without a unit has no other one before it.
            total = total.or(Some(number));
            break;
        };
        total = Some(total.unwrap_or_default() + number * seconds);
        let word = after.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        rest = word.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    Duration::try_from_secs_f64(total?).ok()
}

/// Splits a number from the beginning of a text.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    let number = number.trim_end_matches('.').parse().ok()?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_found_in_sentences() {
        for (text, millis) in [
            ("Please try again in 1.5s.", Some(1_500)),
            ("retry after 20 ms", Some(20)),
            ("slow down (asked to wait 7 s)", Some(7_000)),
            (
                "You've hit your usage limit. Try again in 7 minutes.",
                Some(420_000),
            ),
            ("try again in 3 days 4 hours 10 minutes", Some(274_200_000)),
            ("Please try again in 6m0s", Some(360_000)),
            (
                "resets in 1 hour, 2 minutes and 3 seconds.",
                Some(3_723_000),
            ),
            ("retry after 30", Some(30_000)),
            ("try again in 2 h", Some(7_200_000)),
            ("try again in a while", None),
            ("try again in 99999999999999999999999s", None),
            ("no", None),
        ] {
            let found = wait_in_text(text).map(|wait| wait.as_millis());
            assert_eq!(found, millis, "{text}");
        }
    }
}
