//! HTTP dates, in all three formats that a recipient must accept.

use std::time::Duration;

use windlass_core::Timestamp;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns the time from `now` until this date, or zero if the date has passed.
pub(super) fn duration_until(text: &str, now: Timestamp) -> Option<Duration> {
    let then = seconds(text)?.checked_mul(1000)?;
    Some(Duration::from_millis(then.saturating_sub(now.0)))
}

/// Parses the seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or
/// `Sun Nov  6 08:49:37 1994`.
fn seconds(text: &str) -> Option<u64> {
    let fields: Vec<&str> = text
        .split([' ', ',', '-'])
        .filter(|field| !field.is_empty())
        .collect();
    let (day, month, year, time) = match fields.as_slice() {
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| name == month)?;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year = match year.parse::<u64>().ok()? {
        // RFC 850 dates have two digits. A date to wait for is always in this century.
        short @ 0..=99 => 2000 + short,
        long @ 1970..=9999 => long,
        _ => return None,
    };
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if clock.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Returns the days from 1970 to the first of this month. `month` counts from 0.
fn days_before(year: u64, month: usize) -> u64 {
    const LENGTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let before = year - 1;
    let leaps = |until: u64| until / 4 - until / 100 + until / 400;
    let years = (year - 1970) * 365 + leaps(before) - leaps(1969);
    let months: u64 = LENGTHS.iter().take(month).sum();
    years + months + u64::from(is_leap && month > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_formats_are_parsed() {
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds("Sun Nov  6 08:49:37 1994"), Some(784_111_777));
        assert_eq!(
            seconds("Sunday, 06-Nov-94 08:49:37 GMT"),
            seconds("x, 06 Nov 2094 08:49:37 GMT")
        );
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            seconds("Thu, 29 Feb 2024 12:00:00 GMT"),
            Some(1_709_208_000)
        );
        assert_eq!(
            seconds("Fri, 01 Mar 2024 00:00:00 GMT"),
            Some(1_709_251_200)
        );
    }

    #[test]
    fn invalid_date_is_none_and_past_date_is_zero() {
        for bad in [
            "",
            "soon",
            "12",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
        let now = Timestamp(784_111_770_500);
        let wait = duration_until("Sun, 06 Nov 1994 08:49:37 GMT", now);
        assert_eq!(wait, Some(Duration::from_millis(6_500)));
        let past = duration_until("Sun, 06 Nov 1994 08:49:37 GMT", Timestamp(u64::MAX));
        assert_eq!(past, Some(Duration::ZERO));
    }
}
