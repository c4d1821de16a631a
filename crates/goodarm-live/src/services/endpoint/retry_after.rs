//! The pause that a server asks for.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The pause in the header `retry-after-ms`, or else in `Retry-After`, which has seconds or a date.
pub(super) fn read(headers: &HeaderMap) -> Option<Duration> {
    if let Some(millis) = headers.get("retry-after-ms").and_then(|value| value.to_str().ok()) {
        let seconds = millis.trim().parse::<f64>().ok()? / 1000.0;
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let until = httpdate::parse_http_date(text).ok()?;
            Some(until.duration_since(SystemTime::now()).unwrap_or_default())
        }
    }
}

/// Adds the pause to the reason of a refusal, unless it is shorter than a second.
pub(super) fn noted(reason: String, pause: Option<Duration>) -> String {
    match pause.map(|pause| pause.as_secs()) {
        Some(seconds @ 1..) => format!("{reason} (Retry-After: {seconds} s)"),
        _ => reason,
    }
}

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

    #[test]
    fn a_date_is_waited_for() {
        let mut headers = HeaderMap::new();
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        headers.insert(RETRY_AFTER, date.parse().unwrap());
        let wait = read(&headers).unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(100), "{wait:?}");
    }
}
