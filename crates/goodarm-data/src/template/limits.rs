//! Limits of what a template makes on its way. Its steps are counted by minijinja, but one step can make a value of any
//! size: a hostile separator, width or number in a candidate is enough. So filters, what is written and what is
//! assigned take from one allowance of bytes, before anything of that size is made where the size can be told.

use std::fmt::{self, Write};
use std::io;

use minijinja::filters as builtin;
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::TEXT_BYTES_MAX;

/// The most bytes of all values that one rendering makes.
const MADE_BYTES_MAX: usize = 128 << 20;
/// An item of a list counts as this many bytes: its memory, and the time to get at it.
const ITEM_BYTES: usize = 128;
/// A piece of a list as text, such as a bracket, counts as this many bytes more: the time to write it.
const PIECE_BYTES: usize = 32;
/// The most steps of one rendering; a loop over the characters of a very long answer takes a tenth of them.
const STEPS_MAX: u64 = 10_000_000;
/// A step may read a whole field, as a search in a text does: the most steps, times the bytes of all fields.
const READ_BYTES_MAX: u64 = 150_000_000_000;

/// The most steps of a rendering for a candidate of this many bytes.
pub(super) fn steps_max(bytes: usize) -> u64 {
    (READ_BYTES_MAX / (bytes as u64).max(1)).min(STEPS_MAX)
}

/// The name of the filter that checks a value before it is assigned.
const ASSIGNED: &str = "assigned";
/// The name of the filter that counts the plain text of a round of a loop, and writes nothing.
const ROUND: &str = "round_of_loop";

/// Replaces every filter that takes more than constant time, and `range`, by one that keeps to the limits.
pub(super) fn apply(environment: &mut Environment<'_>) {
    macro_rules! metered {
        ($($name:ident)+) => {
            $(metered(environment, stringify!($name), Value::from_function(builtin::$name));)+
        };
    }
    metered!(batch capitalize chain dictsort escape format groupby indent items join lines list lower map max min
        pprint reject rejectattr replace reverse select selectattr slice sort split string sum title tojson trim
        unique upper zip);
    metered(environment, "e", Value::from_function(builtin::escape));
    metered(environment, ASSIGNED, Value::from_function(|value: Value| value));
    environment.add_filter(ROUND, |state: &mut State<'_, '_>, bytes: usize| {
        take(state, bytes).map(|()| "")
    });
    environment.add_function("range", range);
    // It writes everything that there is, in any size.
    environment.remove_global("debug");
    environment.set_formatter(|out, state, value| {
        // A field that is null is empty, not the word "none".
        if value.is_none() {
            return Ok(());
        }
        let bytes = bytes_of(value, left(state));
        take(state, bytes)?;
        minijinja::escape_formatter(out, state, value)
    });
}

fn metered(environment: &mut Environment<'_>, name: &'static str, filter: Value) {
    let limited = move |state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>| {
        let values = values.into_values();
        for value in &values {
            let bytes = bytes_of(value, left(state));
            take(state, bytes)?;
        }
        let added = added(name, &values);
        if added > TEXT_BYTES_MAX {
            let reason = format!("{name} makes a value of more than {TEXT_BYTES_MAX} bytes");
            return Err(Error::new(ErrorKind::InvalidOperation, reason));
        }
        take(state, added)?;
        filter.call(state, &values)
    };
    environment.add_filter(name, limited);
}

/// The bytes that one rendering has made.
struct Made(usize);

fn left(state: &mut State<'_, '_>) -> usize {
    MADE_BYTES_MAX.saturating_sub(state.get_or_insert_extension(Made(0)).0)
}

fn take(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let made = state.get_or_insert_extension(Made(0));
    made.0 = made.0.saturating_add(bytes);
    if made.0 <= MADE_BYTES_MAX {
        return Ok(());
    }
    let reason = format!("its values have more than {MADE_BYTES_MAX} bytes in all");
    Err(Error::new(ErrorKind::InvalidOperation, reason))
}

/// The bytes of a value as text, and in memory if it is a list. Counting ends above `most`.
fn bytes_of(value: &Value, most: usize) -> usize {
    if let Some(text) = value.as_str() {
        return text.len();
    }
    let items = match value.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => value.len().unwrap_or(0),
        _ => 1,
    };
    let items = items.saturating_mul(ITEM_BYTES);
    if items > most {
        return items;
    }
    let mut counter = Counter { bytes: 0, piece: PIECE_BYTES, most };
    let _ = write!(counter, "{value}");
    counter.bytes.max(items)
}

/// The most bytes that a filter adds to those of its values, as far as that is more than a few times as many.
fn added(name: &str, values: &[Value]) -> usize {
    const MOST: usize = TEXT_BYTES_MAX;
    let text = |index: usize| values.get(index).and_then(Value::as_str).unwrap_or_default();
    let rest = values.get(1..).unwrap_or_default();
    let rest_bytes = || rest.iter().map(|value| bytes_of(value, MOST)).sum::<usize>();
    let first = values.first().cloned().unwrap_or_default();
    let in_list = |count: usize| count.saturating_mul(ITEM_BYTES);
    match name {
        "join" => count_of(&first).saturating_mul(rest_bytes()),
        "replace" => text(0).matches(text(1)).count().saturating_mul(text(2).len()),
        "indent" => {
            largest_number(rest).saturating_mul(text(0).split('\n').count().saturating_add(1))
        }
        "batch" | "slice" => in_list(largest_number(rest.get(..1).unwrap_or_default())),
        "split" if text(1).is_empty() => in_list(text(0).split_whitespace().count()),
        "split" => in_list(text(0).matches(text(1)).count()),
        // Each sum is a copy, unless they are numbers.
        "sum" if !rest.is_empty() => count_of(&first).saturating_mul(rest_bytes()),
        "format" => {
            let widths = text(0).split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty());
            let widths = widths.map(|digits| digits.parse().unwrap_or(usize::MAX));
            let width = widths.chain([largest_number(rest)]).fold(0, usize::saturating_add);
            let each = rest_bytes().saturating_add(width);
            each.saturating_mul(text(0).matches('%').count())
        }
        "tojson" => json_bytes(&first, largest_number(rest)),
        "pprint" => {
            let mut counter = Counter { bytes: 0, piece: 0, most: MOST };
            let _ = write!(counter, "{first:#?}");
            counter.bytes
        }
        _ => 0,
    }
}

/// The largest number among arguments, also by keyword; otherwise 0.
fn largest_number(values: &[Value]) -> usize {
    let number = |value: Value| match value.kind() {
        ValueKind::Number => {
            let number = i128::try_from(value).map_or(0, i128::unsigned_abs);
            usize::try_from(number).unwrap_or(usize::MAX)
        }
        _ => 0,
    };
    let largest = |value: &Value| match value.kind() {
        ValueKind::Map => {
            let keys = value.try_iter().into_iter().flatten();
            keys.filter_map(|key| value.get_item(&key).ok()).map(number).max().unwrap_or(0)
        }
        _ => number(value.clone()),
    };
    values.iter().map(largest).max().unwrap_or(0)
}

/// The number of items of a list, or of characters of a text; up to a limit if it is not known.
fn count_of(list: &Value) -> usize {
    let counted = || list.try_iter().map_or(0, |items| items.take(TEXT_BYTES_MAX).count());
    list.len().unwrap_or_else(counted)
}

/// The bytes of a value as JSON with this indent, up to a few above the limit.
fn json_bytes(value: &Value, indent: usize) -> usize {
    if indent > TEXT_BYTES_MAX {
        return indent;
    }
    let mut counter = Counter { bytes: 0, piece: 0, most: TEXT_BYTES_MAX };
    let indent = " ".repeat(indent);
    let form = PrettyFormatter::with_indent(indent.as_bytes());
    let _ = value.serialize(&mut Serializer::with_formatter(&mut counter, form));
    counter.bytes
}

/// `range`, for numbers that cannot overflow; it has at most 100,000 items.
fn range(lower: i32, upper: Option<i32>, step: Option<i32>) -> Result<Value, Error> {
    let wide = |number| isize::try_from(number).unwrap_or_default();
    minijinja::functions::range(wide(lower), upper.map(wide), step.map(wide))
}

/// Counts what is written to it, and refuses more than a limit.
struct Counter {
    bytes: usize,
    /// What each piece counts as, in addition to its bytes.
    piece: usize,
    most: usize,
}

impl Counter {
    fn count(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(self.piece);
        self.bytes <= self.most
    }
}

impl Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.count(text.len()) { Ok(()) } else { Err(fmt::Error) }
    }
}

impl io::Write for &mut Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_counted = self.count(bytes.len());
        is_counted.then_some(bytes.len()).ok_or_else(|| io::ErrorKind::FileTooLarge.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The template with every `{% set name = value %}` as `{% set name = (value)|assigned %}`. Operators cannot be limited,
/// but what they make can grow from step to step only if it is assigned. Where output is captured, each round of a loop
/// counts as the bytes of the whole template, since its plain text cannot be counted.
pub(super) fn with_limits(source: &str) -> String {
    let captures = ["endset", "endfilter"].iter().any(|end| source.contains(end));
    let (mut limited, mut rest) = (String::new(), source);
    while let Some((before, tag, behind)) = next_tag(rest) {
        limited += before;
        limited += &assigned(tag).unwrap_or_else(|| tag.to_owned());
        if captures && tag.starts_with("{%") && words(tag).starts_with("for") {
            let end = if tag.ends_with("-%}") { "-}}" } else { "}}" };
            limited += &format!("{{{{ {}|{ROUND} {end}", source.len());
        }
        rest = behind;
    }
    limited + rest
}

/// The text before the next tag, the tag, and the rest. A raw block and a comment are one tag.
fn next_tag(text: &str) -> Option<(&str, &str, &str)> {
    let kinds = [("{%", "%}"), ("{{", "}}"), ("{#", "#}")];
    let found = kinds.iter().filter_map(|kind| Some((text.find(kind.0)?, kind)));
    let (start, (open, close)) = found.min()?;
    let inside = start + open.len();
    let mut end = match *open {
        "{#" => inside + text[inside..].find(close)?,
        _ => inside + outside_quotes(&text[inside..], |rest| rest.starts_with(close))?,
    } + close.len();
    if *open == "{%" && words(&text[start..end]).starts_with("raw") {
        end += text[end..].find("endraw")?;
        end += text[end..].find(close)? + close.len();
    }
    Some((&text[..start], &text[start..end], &text[end..]))
}

/// The content of a tag without marks for white space.
fn words(tag: &str) -> &str {
    tag[2..tag.len() - 2].trim_matches(['-', '+']).trim()
}

/// Where the text first fulfils a condition outside of quotes.
fn outside_quotes(text: &str, is_it: impl Fn(&str) -> bool) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match quote {
            None if is_it(&text[index..]) => return Some(index),
            None => quote = Some(c).filter(|c| matches!(c, '"' | '\'')),
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) => quote = Some(open).filter(|open| *open != c),
        }
    }
    None
}

/// A tag that assigns a value, with the filter; `None` for others, as the beginning of a block.
fn assigned(tag: &str) -> Option<String> {
    let is_set =
        words(tag).strip_prefix("set").is_some_and(|it| it.starts_with(char::is_whitespace));
    let inside = tag.strip_prefix("{%").filter(|_| is_set)?;
    let sign = 2 + outside_quotes(inside, |rest| rest.starts_with(['=', '|']))?;
    let (target, value) = tag.split_at(sign + 1);
    let value = value.strip_suffix("%}")?;
    let end = if value.ends_with(['-', '+']) { &tag[tag.len() - 3..] } else { "%}" };
    let value = value.trim_end_matches(['-', '+']);
    let is_block = target.ends_with('|') || value.trim().is_empty();
    (!is_block).then(|| format!("{target} ({value})|{ASSIGNED} {end}"))
}
