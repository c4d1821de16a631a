//! Matches a secret in a text, each of its characters in any form: plain, after backslashes, or escaped as in JSON,
//! Rust, Python, URLs, web forms or HTML.

/// The possible ends of the part of a secret that was matched: a text can often be read in several ways.
#[derive(Default)]
pub(super) struct MatchEnds {
    now: Vec<usize>,
    next: Vec<usize>,
    steps: usize,
}

impl MatchEnds {
    /// The end of a secret that starts here, if one does: all of it, or enough of its beginning if the text was
    /// probably cut.
    pub(super) fn of(&mut self, secret: &[char], text: &[u8], start: usize) -> Option<usize> {
        self.now.clear();
        self.now.push(start);
        for (count, &wanted) in secret.iter().enumerate() {
            self.next.clear();
            self.steps += self.now.len();
            for &at in &self.now {
                push_ends(&text[at..], at, wanted, &mut self.next);
            }
            if self.next.is_empty() {
                let is_most = count >= BEGINNING_CHARS_MIN;
                return self.now.iter().copied().max().filter(|_| is_most);
            }
            self.next.sort_unstable();
            self.next.dedup();
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.now.iter().copied().max()
    }

    /// The number of comparisons since the last call of this method.
    pub(super) const fn take_steps(&mut self) -> usize {
        std::mem::replace(&mut self.steps, 0)
    }
}

/// Adds the ends of all forms of this character at the beginning of `rest`, which starts at `at`.
fn push_ends(rest: &[u8], at: usize, wanted: char, ends: &mut Vec<usize>) {
    // Nested JSON doubles them.
    let slashes = rest.iter().take(SLASHES_MAX).take_while(|&&byte| byte == b'\\').count();
    let unescaped = &rest[slashes..];
    if wanted == '\\' {
        ends.extend((1..=slashes).map(|count| at + count));
    } else if unescaped.starts_with(wanted.encode_utf8(&mut [0; 4]).as_bytes()) {
        ends.push(at + slashes + wanted.len_utf8());
    }
    let is_it = |(code, len)| (code == u32::from(wanted)).then_some(len);
    if slashes > 0 {
        let len = escape(unescaped).and_then(is_it);
        ends.extend(len.map(|len| at + slashes + len));
        return;
    }
    match rest.first() {
        Some(b'%') => ends.extend(percent_len(rest, wanted).map(|len| at + len)),
        Some(b'&') => ends.extend(entity(rest).and_then(is_it).map(|len| at + len)),
        Some(b'+') if wanted == ' ' => ends.push(at + 1),
        _ => {}
    }
}

/// The character of an escape, from the byte after its backslash, and its length.
pub(super) fn escape(text: &[u8]) -> Option<(u32, usize)> {
    let digits = |from: usize, count: usize| hex(text.get(from..from + count)?);
    match text.first()? {
        b'n' => Some(('\n'.into(), 1)),
        b'r' => Some(('\r'.into(), 1)),
        b't' => Some(('\t'.into(), 1)),
        b'x' => Some((digits(1, 2)?, 3)),
        b'u' | b'U' if text.get(1) == Some(&b'{') => {
            let len = text[2..].iter().take(9).position(|&byte| byte == b'}')?;
            Some((digits(2, len)?, len + 3))
        }
        b'U' if digits(1, 8).is_some() => Some((digits(1, 8)?, 9)),
        b'u' | b'U' => {
            let first = digits(1, 4)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((first, 5));
            }
            let second = text.get(5..7).filter(|it| it == b"\\u").and_then(|_| digits(7, 4))?;
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
            Some((0x10000 + ((first - 0xd800) << 10) + low, 11))
        }
        _ => None,
    }
}

/// The character of an HTML entity, from its `&`, and its length.
pub(super) fn entity(rest: &[u8]) -> Option<(u32, usize)> {
    let end = rest.iter().take(ENTITY_BYTES_MAX).position(|&byte| byte == b';')?;
    let code = match rest.get(1..end)? {
        [b'#', b'x' | b'X', digits @ ..] => hex(digits)?,
        [b'#', digits @ ..] => str::from_utf8(digits).ok()?.parse().ok()?,
        b"amp" => '&'.into(),
        b"lt" => '<'.into(),
        b"gt" => '>'.into(),
        b"quot" => '"'.into(),
        b"apos" => '\''.into(),
        b"sol" => '/'.into(),
        b"plus" => '+'.into(),
        b"equals" => '='.into(),
        _ => return None,
    };
    Some((code, end + 1))
}

/// The value of hexadecimal digits.
pub(super) fn hex(digits: &[u8]) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.len() <= 8;
    is_number.then_some(())?;
    digits.iter().try_fold(0, |number, &sign| Some(number << 4 | u32::from(digit(sign)?)))
}

/// The length of a percent-encoded character.
fn percent_len(bytes: &[u8], wanted: char) -> Option<usize> {
    let mut buffer = [0; 4];
    let wanted = wanted.encode_utf8(&mut buffer).as_bytes();
    let signs = bytes.chunks_exact(3).zip(wanted);
    let same = signs.take_while(|(sign, byte)| {
        sign[0] == b'%'
            && digit(sign[1]) == Some(**byte >> 4)
            && digit(sign[2]) == Some(**byte & 15)
    });
    (same.count() == wanted.len()).then_some(3 * wanted.len())
}

/// The value of a hexadecimal digit.
pub(super) const fn digit(sign: u8) -> Option<u8> {
    match sign {
        b'0'..=b'9' => Some(sign - b'0'),
        b'a'..=b'f' => Some(sign - b'a' + 10),
        b'A'..=b'F' => Some(sign - b'A' + 10),
        _ => None,
    }
}

/// The characters at the beginning of a secret that count as all of it.
const BEGINNING_CHARS_MIN: usize = 16;
const SLASHES_MAX: usize = 16;
const ENTITY_BYTES_MAX: usize = 12;
