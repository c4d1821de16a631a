//! How long a server asks us to wait.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// What `Retry-After` asks for, in seconds or as a date, or `retry-after-ms`.
pub(super) fn read(headers: &HeaderMap) -> Option<Duration> {
    if let Some(millis) = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()) {
        let seconds = millis.trim().parse::<f64>().ok()? / 1000.0;
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            Some(date(text)?.saturating_sub(now))
        }
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as time since 1970; older forms of dates are not read.
fn date(text: &str) -> Option<Duration> {
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.split(' ');
    let day: u64 = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let year: u64 = parts.next()?.parse().ok()?;
    let clock = parts.next()?;
    let [hours, minutes, seconds] = clock
        .split(':')
        .map(|part| part.parse::<u64>().ok())
        .collect::<Option<Vec<_>>>()?
        .try_into()
        .ok()?;
    let is_sane = (1970..10_000).contains(&year) && (1..=31).contains(&day);
    if parts.next() != Some("GMT") || !is_sane || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let days = days_before_year(year) - days_before_year(1970)
        + DAYS_BEFORE_MONTH[month]
        + u64::from(month > 1 && is_leap(year))
        + (day - 1);
    Some(Duration::from_secs(((days * 24 + hours) * 60 + minutes) * 60 + seconds))
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days from the year 1 to the beginning of a year.
const fn days_before_year(year: u64) -> u64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS_BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &'static str, value: &str, expected: Option<Duration>) {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        assert_eq!(read(&headers), expected, "{name}: {value}");
    }

    #[test]
    fn seconds_milliseconds_and_nonsense() {
        check("retry-after", "7", Some(Duration::from_secs(7)));
        check("retry-after", " 0.5", Some(Duration::from_millis(500)));
        check("retry-after-ms", "1500", Some(Duration::from_millis(1500)));
        check("retry-after", "-1", None);
        check("retry-after", "NaN", None);
        check("retry-after", "soon", None);
        check("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(Duration::ZERO));
        check("retry-after", "Sun, 99 Nov 1994 08:49:37 GMT", None);
        check("retry-after", "Sun, 06 ÄÄÄ 1994 08:49:37 GMT", None);
    }

    /// `date -u -d @N` of GNU coreutils gives the texts.
    #[test]
    fn dates_are_counted_right() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ] {
            assert_eq!(date(text), Some(Duration::from_secs(seconds)), "{text}");
        }
    }
}
