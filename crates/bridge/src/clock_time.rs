//! Times of day in a provider's sentence, such as `resets 3pm` and `try again at Nov 20th, 2026 3:05 PM`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

/// What stands before the time.
const PHRASES: [&str; 4] = ["resets at ", "reset at ", "again at ", "resets "];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Returns how long it is until the time of day that a sentence names. Without a date it is the next one, and without a zone it
/// is in this one.
pub(crate) fn until_clock_time(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Duration> {
    let lower = text.to_lowercase();
    let rest = PHRASES
        .iter()
        .find_map(|phrase| lower.split_once(phrase))?
        .1;
    let named = rest.split_once('(').and_then(|(_, name)| {
        let (name, _) = name.split_once(')')?;
        TimeZone::get(name).ok()
    });
    let zone = named.as_ref().unwrap_or(zone);
    let mut words = rest
        .split([' ', ','])
        .filter(|word| !word.is_empty() && *word != "at")
        .peekable();
    let today = now.to_zoned(zone.clone()).date();
    let date = words.next_if(|word| month(word).is_some());
    let date = match date {
        Some(word) => {
            let day = leading_number(words.next()?)?;
            let is_year = |word: &&str| word.len() == 4 && word.parse::<i16>().is_ok();
            let year = words.next_if(is_year).and_then(|year| year.parse().ok());
            Some((year, month(word)?, i8::try_from(day).ok()?))
        }
        None => None,
    };
    let time = time(words.next()?, words.next().unwrap_or_default())?;
    let at = |date: Date| {
        let end = date.to_datetime(time).to_zoned(zone.clone()).ok()?;
        Duration::try_from(end.timestamp().duration_since(now)).ok()
    };
    match date {
        Some((Some(year), month, day)) => at(Date::new(year, month, day).ok()?),
        // This year, or the next one.
        Some((None, month, day)) => (0..=1).find_map(|later| {
            let date = Date::new(today.year() + later, month, day).ok()?;
            at(date)
        }),
        None => at(today).or_else(|| at(today.tomorrow().ok()?)),
    }
}

/// Returns the number of a month, by its name or the beginning of it.
fn month(word: &str) -> Option<i8> {
    let number = (1..).zip(MONTHS).find(|(_, name)| word.starts_with(name));
    number.map(|(number, _)| number)
}

/// Parses `3pm`, `3:05 pm` and `14:05`. A number alone is no time.
fn time(word: &str, next: &str) -> Option<Time> {
    let hour = leading_number(word)?;
    let digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let (minute, rest) = match digits.strip_prefix(':') {
        Some(minutes) => {
            let rest = minutes.trim_start_matches(|c: char| c.is_ascii_digit());
            (Some(leading_number(minutes)?), rest)
        }
        None => (None, digits),
    };
    let half = if rest.is_empty() { next } else { rest };
    let hour = match (half.get(..2), minute) {
        (Some("am"), _) => hour % 12,
        (Some("pm"), _) => hour % 12 + 12,
        (_, Some(_)) => hour,
        _ => return None,
    };
    let (hour, minute) = (i8::try_from(hour), i8::try_from(minute.unwrap_or(0)));
    Time::new(hour.ok()?, minute.ok()?, 0, 0).ok()
}

/// Returns the number at the beginning of a word, as in `20th`.
fn leading_number(word: &str) -> Option<u8> {
    let end = word.find(|c: char| !c.is_ascii_digit());
    word[..end.unwrap_or(word.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_day_is_found_in_sentences() {
        // Thursday, 2025-10-09, 10:53:20 in this zone.
        let now = Timestamp::from_second(1_760_000_000).unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        for (text, seconds) in [
            ("5-hour limit reached ∙ resets 3pm", Some(14_800)),
            ("Your limit will reset at 3:30 pm.", Some(16_600)),
            ("resets 10am", Some(83_200)),
            ("resets 12am", Some(47_200)),
            ("Please try again at 14:05", Some(11_500)),
            ("Try again at Oct 20th, 2025 3:05 PM.", Some(965_500)),
            ("Weekly limit reached, resets Oct 6, 1pm", Some(31_284_400)),
            (
                "Weekly limit reached, resets October 10 at 1pm",
                Some(94_000),
            ),
            ("resets 3pm (UTC)", Some(22_000)),
            ("resets 3pm (Nowhere/At all)", Some(14_800)),
            ("Try again at Oct 1st, 2025 3:05 PM.", None),
            ("resets soon", None),
            ("resets 25:00", None),
            ("resets 300pm", None),
            ("resets Feb 31, 1pm", None),
            ("try again at 5 requests", None),
            ("resets ", None),
            ("resets ž", None),
            ("", None),
        ] {
            let found = until_clock_time(text, now, &zone).map(|wait| wait.as_secs());
            assert_eq!(found, seconds, "{text}");
        }
    }
}
