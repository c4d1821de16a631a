//! Numbers in the notation of people and models, compared without rounding.

/// A number found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// Sign, digits, fraction and exponent; no currency sign and no thousands separators.
    pub plain: String,
}

/// The first number in the text.
pub(super) fn first(text: &str) -> Option<Found> {
    Numbers { text, at: 0 }.next()
}

/// The last number in the text.
pub fn last(text: &str) -> Option<Found> {
    Numbers { text, at: 0 }.last()
}

/// Whether two final answers are equal: as exact numbers if both are numbers, else as trimmed texts, ignoring
/// case.
pub fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.trim(), right.trim());
    same_number(left, right).unwrap_or_else(|| left.to_lowercase() == right.to_lowercase())
}

/// Whether two texts are the same number; `None` if one of them is not a number.
pub fn same_number(left: &str, right: &str) -> Option<bool> {
    let (left, right) = (Exact::read(left)?, Exact::read(right)?);
    match (&left.denominator, &right.denominator) {
        (None, None) => Some(left.numerator == right.numerator),
        // Numbers too long to multiply are only equal if they are written alike.
        _ => Some(left.times_denominator_of(&right).map_or(left == right, |product| {
            right.times_denominator_of(&left).is_some_and(|other| product == other)
        })),
    }
}

struct Numbers<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Numbers<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let bytes = self.text.as_bytes();
        let digit = bytes[self.at..].iter().position(u8::is_ascii_digit)? + self.at;
        let has_point =
            digit > self.at && bytes[digit - 1] == b'.' && !follows_word(bytes, digit - 1);
        let mut plain = String::new();
        let start = read_sign(self.text, self.at, digit - usize::from(has_point), &mut plain);
        let mut end = digit;
        if has_point {
            plain.push_str("0.");
            end += push_digits(&bytes[digit..], &mut plain);
        } else {
            end += push_integer(&bytes[digit..], &mut plain);
            end += push_fraction(&bytes[end..], &mut plain);
        }
        end += push_exponent(&bytes[end..], &mut plain);
        end += push_denominator(bytes, start, end, &mut plain);
        self.at = end;
        Some(Found { start, end, plain })
    }
}

/// In `a.5` and `3.4.5` the point does not begin a number.
fn follows_word(bytes: &[u8], point: usize) -> bool {
    point.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphanumeric())
}

/// Reads a sign and a currency sign backwards from the first digit; returns where the number begins.
fn read_sign(text: &str, from: usize, digits: usize, plain: &mut String) -> usize {
    let mut head = &text[from..digits];
    let mut has_sign = false;
    // Both `-$5` and `$-5`.
    for _ in 0..2 {
        if let Some(rest) = head.strip_suffix(['$', '€', '£', '¥']) {
            head = rest;
        } else if let Some(rest) = head.strip_suffix("\\$") {
            head = rest;
        }
        if has_sign {
            break;
        }
        let Some(rest) = head.strip_suffix(['-', '−', '+']) else { break };
        // In `10-3`, `x-3` and `(2)-3` it is an operator, not a sign.
        let before = if rest.is_empty() {
            text[..from].chars().next_back()
        } else {
            rest.chars().next_back()
        };
        if before.is_some_and(|c| c.is_alphanumeric() || c == ')') {
            break;
        }
        if !head.ends_with('+') {
            plain.push('-');
        }
        has_sign = true;
        head = rest;
    }
    from + head.len()
}

fn push_digits(bytes: &[u8], plain: &mut String) -> usize {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    plain.extend(bytes[..count].iter().map(|byte| char::from(*byte)));
    count
}

/// Digits, with commas between groups of three.
fn push_integer(bytes: &[u8], plain: &mut String) -> usize {
    let mut length = push_digits(bytes, plain);
    if length > 3 {
        return length;
    }
    while let Some(rest) = bytes[length..].strip_prefix(b",") {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count != 3 {
            break;
        }
        push_digits(rest, plain);
        length += 4;
    }
    length
}

fn push_fraction(bytes: &[u8], plain: &mut String) -> usize {
    match bytes {
        [b'.', digit, ..] if digit.is_ascii_digit() => {
            plain.push('.');
            1 + push_digits(&bytes[1..], plain)
        }
        _ => 0,
    }
}

fn push_exponent(bytes: &[u8], plain: &mut String) -> usize {
    let [b'e' | b'E', rest @ ..] = bytes else { return 0 };
    let sign = usize::from(matches!(rest, [b'+' | b'-', ..]));
    let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = sign + digits;
    if digits == 0 || rest.get(end).is_some_and(u8::is_ascii_alphabetic) {
        return 0;
    }
    plain.push('e');
    plain.extend(rest[..end].iter().map(|byte| char::from(*byte)));
    1 + end
}

/// `3/4` is one number; `1/2/2024` are three.
fn push_denominator(bytes: &[u8], start: usize, end: usize, plain: &mut String) -> usize {
    let [b'/', rest @ ..] = &bytes[end..] else { return 0 };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_chain = start.checked_sub(1).is_some_and(|before| bytes[before] == b'/')
        || matches!(rest.get(count..), Some([b'/', ..]))
        || matches!(rest.get(count..), Some([b'.', digit, ..]) if digit.is_ascii_digit());
    if count == 0 || is_chain || rest[..count].iter().all(|digit| *digit == b'0') {
        return 0;
    }
    plain.push('/');
    push_digits(rest, plain);
    1 + count
}

/// A decimal or a fraction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exact {
    numerator: Decimal,
    denominator: Option<u64>,
}

/// ± digits × 10^exponent. The digits neither begin nor end with 0; zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Exact {
    /// Reads a text that is a single number, with an optional per cent sign or period.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let found = first(text)?;
        let rest = text[found.end..].trim_start_matches("\\%").trim_start_matches(['%', '.']);
        if found.start != 0 || !rest.trim().is_empty() {
            return None;
        }
        let (numerator, denominator) = match found.plain.split_once('/') {
            Some((numerator, denominator)) => (numerator, Some(denominator.parse().ok()?)),
            None => (found.plain.as_str(), None),
        };
        Some(Self { numerator: Decimal::read(numerator)?, denominator })
    }

    /// Exactly self.numerator × other.denominator; `None` if it is too large.
    fn times_denominator_of(&self, other: &Self) -> Option<Decimal> {
        let digits: u128 = if self.numerator.digits.is_empty() {
            0
        } else {
            self.numerator.digits.parse().ok()?
        };
        let product = digits.checked_mul(u128::from(other.denominator.unwrap_or(1)))?;
        let is_negative = self.numerator.is_negative;
        Some(Decimal::new(is_negative, &product.to_string(), self.numerator.exponent))
    }
}

impl Decimal {
    fn read(plain: &str) -> Option<Self> {
        let (is_negative, plain) = match plain.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, plain),
        };
        let (mantissa, exponent) = match plain.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (plain, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = i64::from(exponent) - i64::try_from(fraction.len()).ok()?;
        Some(Self::new(is_negative, &format!("{whole}{fraction}"), exponent))
    }

    fn new(is_negative: bool, digits: &str, exponent: i64) -> Self {
        let digits = digits.trim_start_matches('0');
        let short = digits.trim_end_matches('0');
        if short.is_empty() {
            return Self { is_negative: false, digits: String::new(), exponent: 0 };
        }
        // A text is far shorter than i64::MAX.
        let dropped = i64::try_from(digits.len() - short.len()).unwrap_or(0);
        Self { is_negative, digits: short.to_owned(), exponent: exponent + dropped }
    }
}
