//! Exact amounts of money in files.
//!
//! goodarm writes an amount as a decimal in a text (`"cost": "0.0125"`), since many readers lose digits of
//! JSON numbers: `#[serde(with = "goodarm_files::money::exact")]`. People may also write a number:
//! `#[serde(with = "goodarm_files::money::price")]` or `budget`. These two differ in the digits beyond the
//! twelfth decimal: prices round up, budgets down.

use std::fmt;

use goodarm_core::Cost;
use goodarm_core::cost::CostError;
use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

/// An amount as a person writes it: a number, or a decimal in a text.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "expected an amount such as 12.5 or \"12.5\"")]
pub enum AmountInput {
    /// `12`
    Whole(u64),
    /// `12.5`
    Number(f64),
    /// `"12.5"`
    Text(String),
}

impl AmountInput {
    /// The amount as a price: digits beyond the twelfth decimal round up.
    pub fn price(&self) -> Result<Cost, CostError> {
        match self {
            Self::Whole(number) => Ok(Cost::from_units(*number)),
            Self::Number(number) => Cost::of_price(*number),
            Self::Text(text) => text.parse(),
        }
    }

    /// The exact amount, from a whole number or a decimal in a text; other numbers may have lost digits.
    pub fn exact(&self) -> Result<Cost, CostError> {
        match self {
            Self::Whole(number) => Ok(Cost::from_units(*number)),
            Self::Number(_) => Err(CostError::NotADecimal),
            Self::Text(text) => text.parse(),
        }
    }

    /// The amount as a budget: digits beyond the twelfth decimal are cut.
    pub fn budget(&self) -> Result<Cost, CostError> {
        match self {
            Self::Whole(number) => Ok(Cost::from_units(*number)),
            Self::Number(number) => Cost::of_budget(*number),
            Self::Text(text) => {
                let point = text.find('.').unwrap_or(text.len());
                let (kept, cut) = text.split_at_checked(point + 13).unwrap_or((text, ""));
                if !cut.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(CostError::NotADecimal);
                }
                kept.parse()
            }
        }
    }
}

impl fmt::Display for AmountInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
    cost: fn(&AmountInput) -> Result<Cost, CostError>,
) -> Result<Cost, D::Error> {
    cost(&AmountInput::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// Exact decimals only, as goodarm itself writes them.
pub mod exact {
    use super::{AmountInput, Cost, Deserializer, Serializer};

    /// Writes an exact decimal in a text.
    pub fn serialize<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(cost)
    }

    /// Reads an exact decimal in a text; a number that may have lost digits is refused.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cost, D::Error> {
        super::read(deserializer, AmountInput::exact)
    }
}

/// A number or a text; digits beyond the twelfth decimal round up.
pub mod price {
    use super::{AmountInput, Cost, Deserializer};

    pub use super::exact::serialize;

    /// Reads a number, or a decimal in a text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cost, D::Error> {
        super::read(deserializer, AmountInput::price)
    }
}

/// A price that may be missing.
pub mod optional {
    use super::{AmountInput, Cost, Deserialize, Deserializer, Serializer, de};

    /// Writes an exact decimal in a text, or null.
    pub fn serialize<S: Serializer>(cost: &Option<Cost>, serializer: S) -> Result<S::Ok, S::Error> {
        match cost {
            Some(cost) => serializer.collect_str(cost),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a number, a decimal in a text, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Cost>, D::Error> {
        let amount = Option::<AmountInput>::deserialize(deserializer)?;
        amount.map(|amount| amount.price().map_err(de::Error::custom)).transpose()
    }
}

/// A number or a text; digits beyond the twelfth decimal are cut.
pub mod budget {
    use super::{AmountInput, Cost, Deserializer};

    pub use super::exact::serialize;

    /// Reads a number, or a decimal in a text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cost, D::Error> {
        super::read(deserializer, AmountInput::budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct File {
        #[serde(with = "exact")]
        spent: Cost,
        #[serde(with = "exact")]
        most: Cost,
        #[serde(with = "price")]
        price: Cost,
        #[serde(with = "budget")]
        budget: Cost,
    }

    fn cost(text: &str) -> Cost {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_are_written_exactly_and_read_back() {
        let file = File {
            spent: cost("0.000000000001"),
            most: cost("123456789012345.123456789012"),
            price: cost("0.3"),
            budget: cost("9"),
        };
        let text = serde_json::to_string(&file).unwrap();
        assert_eq!(
            text,
            r#"{"spent":"0.000000000001","most":"123456789012345.123456789012","price":"0.3","budget":"9"}"#
        );
        assert_eq!(serde_json::from_str::<File>(&text).unwrap(), file);
    }

    #[test]
    fn people_may_write_numbers_or_texts() {
        for (price, budget) in [("0.1", "2"), ("\"0.1\"", "\"2\""), ("0.1", "2.0")] {
            let text = format!("spent = '0'\nmost = '1'\nprice = {price}\nbudget = {budget}");
            let file: File = crate::toml_text::parse(&text).unwrap();
            assert_eq!((file.price, file.budget), (cost("0.1"), cost("2")), "{text}");
        }
    }

    #[test]
    fn excess_digits_make_no_call_cheaper_and_no_budget_larger() {
        for written in
            [AmountInput::Text("0.3333333333333333".into()), AmountInput::Number(1.0 / 3.0)]
        {
            assert_eq!(written.price(), Ok(cost("0.333333333334")));
            assert_eq!(written.budget(), Ok(cost("0.333333333333")));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for wrong in
            ["-1", "-0.5", "\"1e3\"", "\"\"", "true", "1e16", "\"0.1234567890123x\"", "\"é\""]
        {
            let text = format!("{{\"spent\":\"0\",\"most\":\"1\",\"price\":1,\"budget\":{wrong}}}");
            let error = serde_json::from_str::<File>(&text).unwrap_err();
            assert!(!error.to_string().is_empty(), "{wrong}");
        }
    }
}
