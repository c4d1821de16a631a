//! JSON for a schema validator, with a counter: every access to a value is a step. Once the steps or the stack
//! are used up, every value appears as null, so the validator soon ends.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

use goodarm_data::steps::{Limit, Steps, text_steps};
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp};
use serde_json::{Map, Number, Value};

/// JSON with counted accesses.
#[derive(Debug)]
pub(super) struct CountedJson;

/// Counts accesses.
#[derive(Debug)]
pub(super) struct Counter {
    steps: Steps,
    prices: Prices,
    /// The stack pointer at the beginning.
    stack: usize,
    limit: Cell<Option<Limit>>,
}

/// Additional steps of some values, depending on the keywords of the schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prices {
    /// For a text or a name, which is matched against patterns.
    pub(super) text: u64,
    /// Factor of the length of a text for the slowest pattern; 0 without patterns.
    pub(super) slowness: usize,
    /// For a number that is not an integer, whose division takes all its digits.
    pub(super) number: u64,
}

impl Counter {
    pub(super) fn new(steps: u64, prices: Prices) -> Self {
        let steps = Steps::new(steps);
        Self { steps, prices, stack: stack_now(), limit: Cell::new(None) }
    }

    /// The limit that was reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        self.limit.get()
    }

    fn take(&self, count: u64) -> bool {
        if self.stack.abs_diff(stack_now()) > STACK_BYTES_MAX {
            self.limit.set(Some(Limit::Depth));
        } else if self.limit.get().is_none() {
            self.limit.set(self.steps.take(count).err());
        }
        self.limit.get().is_none()
    }
}

/// The approximate stack pointer.
#[inline(never)]
fn stack_now() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// A value with its counter; `None` for the name of a property, which is not counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted<'a, T: ?Sized = Value> {
    value: &'a T,
    counter: Option<&'a Counter>,
    /// The length of the names in its path: every error has a copy of them.
    path_bytes: usize,
}

impl<'a> Counted<'a> {
    pub(super) const fn new(value: &'a Value, counter: &'a Counter) -> Self {
        Self { value, counter: Some(counter), path_bytes: 0 }
    }
}

impl<'a, T: ?Sized> Counted<'a, T> {
    fn take(&self, count: u64) -> bool {
        self.counter.is_none_or(|counter| counter.take(count))
    }

    const fn with<U: ?Sized>(&self, value: &'a U, name_bytes: usize) -> Counted<'a, U> {
        Counted { value, counter: self.counter, path_bytes: self.path_bytes + name_bytes }
    }

    fn take_text(&self, text: &str) -> bool {
        let prices = self.counter.map_or_else(Prices::default, |counter| counter.prices);
        self.take(text_steps(text.len().saturating_mul(prices.slowness.max(1))) + prices.text)
    }
}

impl<'a> Counted<'a> {
    fn look(&self) -> &'a Value {
        if self.take(1) { self.value } else { &NULL }
    }

    fn text(&self) -> Option<&'a str> {
        self.look().as_str().filter(|text| self.take_text(text))
    }
}

impl Json for CountedJson {
    type Node<'a> = Counted<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        f: impl FnOnce(Counted<'_>) -> T,
    ) -> T {
        *buffer = Value::from(string);
        f(Counted { value: buffer, counter: None, path_bytes: 0 })
    }
}

impl<'a> Node<'a, CountedJson> for Counted<'a> {
    type Object = Counted<'a, Map<String, Value>>;
    type Array = Counted<'a, [Value]>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Self::Object> {
        self.look().as_object().map(|object| self.with(object, 0))
    }

    fn as_array(&self) -> Option<Self::Array> {
        self.look().as_array().map(|array| self.with(array.as_slice(), 0))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        let number = self.look().as_number()?;
        let price = self.counter.filter(|_| number.is_f64()).map_or(0, |it| it.prices.number);
        self.take(price).then_some(number)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.look().as_bool()
    }

    fn is_null(&self) -> bool {
        self.look().is_null()
    }

    fn json_type(&self) -> JsonType {
        match self.look() {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        cmp::equal(self.look(), expected)
    }

    /// For errors: the value itself, even without steps left.
    fn to_value(&self) -> Cow<'a, Value> {
        self.take(STEPS_PER_ERROR + text_steps(self.path_bytes));
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.value.identity()
    }

    fn container_identity(&self) -> Option<NodeIdentity> {
        self.value.container_identity()
    }
}

impl<'a> Object<'a, CountedJson> for Counted<'a, Map<String, Value>> {
    type Node = Counted<'a>;
    type MemberName = &'a str;
    type MembersIter = Box<dyn Iterator<Item = (&'a str, Counted<'a>)> + 'a>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn get(&self, key: &String) -> Option<Counted<'a>> {
        let value = self.take(1).then(|| self.value.get(key)).flatten();
        value.map(|value| self.with(value, key.len()))
    }

    /// The members, as long as there are steps.
    fn members(&self) -> Self::MembersIter {
        let object = self.with(self.value, 0);
        Box::new(self.value.iter().map_while(move |(name, value)| {
            object.take_text(name).then(|| (name.as_str(), object.with(value, name.len())))
        }))
    }
}

impl<'a> Array<'a, CountedJson> for Counted<'a, [Value]> {
    type Node = Counted<'a>;
    type ElementsIter = Box<dyn Iterator<Item = Counted<'a>> + 'a>;

    fn len(&self) -> usize {
        self.value.len()
    }

    /// The elements, as long as there are steps.
    fn elements(&self) -> Self::ElementsIter {
        let array = self.with(self.value, 0);
        let take = move |value| array.take(1).then(|| array.with(value, 0));
        Box::new(self.value.iter().map_while(take))
    }

    /// Compares by a canonical text. Hashes of values would be too slow: all nested arrays without other values
    /// have the same one.
    fn is_unique(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.value.len());
        self.value.iter().all(|value| {
            let mut text = String::new();
            write_alike(value, &mut text);
            // Without steps left, all values are equal.
            self.take_text(&text) && seen.insert(text)
        })
    }
}

/// Writes the canonical text of a value. Two values have the same text if and only if they are equal to a schema:
/// numbers by their size, and members in any order.
fn write_alike(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&number_alike(number)),
        Value::Array(values) => {
            text.push('[');
            for value in values {
                write_alike(value, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in members {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_alike(value, text);
                text.push(',');
            }
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
}

fn number_alike(number: &Number) -> String {
    match number.as_f64() {
        // Whole numbers of this size fit.
        #[expect(clippy::cast_possible_truncation, reason = "it is a whole number that fits")]
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e30 => {
            (float as i128).to_string()
        }
        _ => number.to_string(),
    }
}

static NULL: Value = Value::Null;
/// The steps of an error, in addition to its path.
const STEPS_PER_ERROR: u64 = 8;
/// Threads have 2 MiB or more.
const STACK_BYTES_MAX: usize = 512 << 10;

#[cfg(test)]
mod tests;
