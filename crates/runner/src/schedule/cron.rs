//! Cron expressions: five fields, as in crontab(5), and the names `@hourly` to `@yearly`.

use std::str::FromStr;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
use windlass_core::Timestamp;

/// How many days are searched for the next due time: 29 February can be eight years away.
const MAX_DAYS: u32 = 366 * 9;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Why a cron expression or its time zone cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CronError(String);

/// A cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    /// Each field is a set of numbers.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day must match both the day of the month and the day of the week. If both are restricted, one is
    /// enough.
    needs_both: bool,
}

/// Returns the name of this machine's time zone.
pub fn zone_name() -> String {
    let zone = TimeZone::system();
    zone.iana_name().unwrap_or("UTC").to_owned()
}

/// Formats a time in a time zone, with the zone's name. Returns `None` if the zone is unknown.
pub fn local_time(at: Timestamp, zone: &str) -> Option<String> {
    let millis = i64::try_from(at.0).ok()?;
    let time = jiff::Timestamp::from_millisecond(millis).ok()?;
    let local = time.to_zoned(TimeZone::get(zone).ok()?);
    Some(format!("{} {zone}", local.strftime("%Y-%m-%d %H:%M")))
}

impl Cron {
    /// Returns the first due time after `after`, in a time zone.
    ///
    /// A time that the time zone skips is due right after the gap. A time that occurs twice is due the first
    /// time.
    ///
    /// # Errors
    ///
    /// Fails if the time zone is unknown, or if there is no such time, such as 30 February.
    pub fn next(&self, after: Timestamp, zone: &str) -> Result<Timestamp, CronError> {
        let zone = TimeZone::get(zone)
            .map_err(|_| CronError(format!("the time zone {zone:?} is not known here")))?;
        let start = i64::try_from(after.0).ok();
        let start = start.and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
        let start = start.ok_or_else(|| CronError("the time is out of range".to_owned()))?;
        let local: Zoned = start.to_zoned(zone.clone());
        let mut date = local.date();
        for _ in 0..MAX_DAYS {
            if self.matches_day(date)
                && let Some(due) = self.next_on(date, start, &zone)
            {
                return Ok(due);
            }
            date = match date.checked_add(1.day()) {
                Ok(next) => next,
                Err(_) => break,
            };
        }
        Err(CronError(
            "the expression has no due time in the next years".to_owned(),
        ))
    }

    fn matches_day(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let day_matches = if self.needs_both {
            day && weekday
        } else {
            day || weekday
        };
        has(self.months, date.month()) && day_matches
    }

    /// Returns the first due time of a day after `start`.
    fn next_on(&self, date: Date, start: jiff::Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        for hour in (0..24).filter(|hour| has(self.hours, *hour)) {
            for minute in (0..60).filter(|minute| has(self.minutes, *minute)) {
                let time = Time::new(hour, minute, 0, 0).ok()?;
                let local = DateTime::from_parts(date, time);
                let Ok(due) = zone.to_ambiguous_zoned(local).compatible() else {
                    continue;
                };
                let due = due.timestamp();
                if due > start {
                    return u64::try_from(due.as_millisecond()).ok().map(Timestamp);
                }
            }
        }
        None
    }
}

fn has(set: u64, number: i8) -> bool {
    u32::try_from(number).is_ok_and(|number| number < 64 && set & (1 << number) != 0)
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let text = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err(CronError(format!(
                "{text:?} has {} fields; expected five: minute hour day month weekday, such as \"0 3 * * 1\"",
                fields.len()
            )));
        };
        let mut weekday_set = set(weekdays, "weekday", 0, 7, &DAYS)?;
        // Both 0 and 7 are Sunday.
        if weekday_set & (1 << 7) != 0 {
            weekday_set |= 1;
        }
        let cron = Self {
            minutes: set(minutes, "minute", 0, 59, &[])?,
            hours: set(hours, "hour", 0, 23, &[])?,
            days: set(days, "day", 1, 31, &[])?,
            months: set(months, "month", 1, 12, &MONTHS)?,
            weekdays: weekday_set,
            needs_both: days.starts_with('*') || weekdays.starts_with('*'),
        };
        Ok(cron)
    }
}

/// Reads a list of numbers, ranges and steps as a set.
fn set(text: &str, field: &str, min: u32, max: u32, names: &[&str]) -> Result<u64, CronError> {
    let invalid = |why: String| CronError(format!("{field} {text:?}: {why}"));
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let number = |text: &str| number(text, min, max, names).map_err(invalid);
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (min, max),
            Some((from, to)) => (number(from)?, number(to)?),
            // `5/10` means from 5 on.
            None if step.is_some() => (number(range)?, max),
            None => (number(range)?, number(range)?),
        };
        if from > to {
            return Err(invalid(format!("{from} is after {to}")));
        }
        let step = match step.map(str::parse::<usize>) {
            None => 1,
            Some(Ok(step)) if (1..=60).contains(&step) => step,
            Some(_) => return Err(invalid("a step is a number from 1 to 60".to_owned())),
        };
        for number in (from..=to).step_by(step) {
            set |= 1 << number;
        }
    }
    Ok(set)
}

/// Reads a number, or a name such as `mon` or `jan`.
fn number(text: &str, min: u32, max: u32, names: &[&str]) -> Result<u32, String> {
    let lower = text.to_ascii_lowercase();
    let named = names.iter().position(|name| *name == lower);
    let named = named.and_then(|at| u32::try_from(at).ok());
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let found = match named {
        Some(at) => Some(at + min),
        None if is_number => text.parse().ok(),
        None => None,
    };
    let found = found.filter(|number| (min..=max).contains(number));
    found.ok_or_else(|| format!("expected numbers from {min} to {max}, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        let time: jiff::Timestamp = text.parse().unwrap();
        Timestamp(u64::try_from(time.as_millisecond()).unwrap())
    }

    /// Returns the next due times.
    fn next(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let cron: Cron = cron.parse().unwrap();
        let mut after = at(after);
        let mut found = Vec::new();
        for _ in 0..count {
            after = cron.next(after, zone).unwrap();
            let millis = i64::try_from(after.0).unwrap();
            found.push(
                jiff::Timestamp::from_millisecond(millis)
                    .unwrap()
                    .to_string(),
            );
        }
        found
    }

    #[test]
    fn due_times_follow_the_expression() {
        let monday = next("0 3 * * 1", "UTC", "2026-11-17T00:00:00Z", 2);
        assert_eq!(monday, ["2026-11-23T03:00:00Z", "2026-11-30T03:00:00Z"]);
        let often = next("*/20 9-10 * * mon-fri", "UTC", "2026-11-20T10:20:00Z", 2);
        assert_eq!(often, ["2026-11-20T10:40:00Z", "2026-11-23T09:00:00Z"]);
        // The 13th, or a Friday.
        let either = next("0 0 13 * 5", "UTC", "2026-12-11T00:00:00Z", 2);
        assert_eq!(either, ["2026-12-13T00:00:00Z", "2026-12-18T00:00:00Z"]);
        let sunday = next("0 0 * * 7", "UTC", "2026-11-17T00:00:00Z", 1);
        assert_eq!(sunday, next("@weekly", "UTC", "2026-11-17T00:00:00Z", 1));
        let leap = next("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1);
        assert_eq!(leap, ["2104-02-29T00:00:00Z"]);
        let now = next("0 3 * * *", "UTC", "2026-11-17T03:00:00Z", 1);
        assert_eq!(now, ["2026-11-18T03:00:00Z"], "later, not now");
    }

    #[test]
    fn days_of_a_clock_change_run_once() {
        // At 02:00 the clock is set to 03:00.
        let gap = next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
        assert_eq!(gap, ["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]);
        // At 03:00 the clock is set back to 02:00.
        let twice = next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(twice, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    }

    #[test]
    fn invalid_expressions_are_rejected_with_the_reason() {
        for (text, wanted) in [
            ("0 3 * *", "has 4 fields"),
            ("60 3 * * *", "minute \"60\""),
            ("0 3 0 * *", "expected numbers from 1 to 31"),
            ("0 3 * * noon", "weekday"),
            ("0 5-3 * * *", "5 is after 3"),
            ("*/0 * * * *", "step"),
            ("-1 * * * *", "minute"),
            ("", "has 0 fields"),
        ] {
            let error = text.parse::<Cron>().unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        let never: Cron = "0 0 30 2 *".parse().unwrap();
        assert!(never.next(Timestamp(0), "UTC").is_err());
        let daily: Cron = "@daily".parse().unwrap();
        let error = daily.next(Timestamp(0), "Mars/Base").unwrap_err();
        assert!(error.to_string().contains("Mars/Base"), "{error}");
    }
}
