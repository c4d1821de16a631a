//! Names of guarantees and units.

use std::fmt;

use goodarm_core::Guarantee;
use goodarm_core::policy::natural_guarantee;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What delta bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuaranteeName {
    /// P(any certificate is wrong) ≤ delta, shares of it lent to the answers that are worked on: the
    /// default with the policies rcb and oracle, which choose the answers to lend to.
    #[default]
    Lent,
    /// P(any certificate is wrong) ≤ delta, stepping down: the default with the other policies.
    Holm,
    /// P(any certificate is wrong) ≤ delta, each answer at delta / N.
    Union,
    /// E(share of wrong certificates) ≤ delta.
    Fdr,
    /// The paper's own certificates, for comparison: valid, and far more expensive.
    Paper,
    /// Nothing is certified: the only guarantee of the policy fixed, which makes recordings.
    None,
}

impl GuaranteeName {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holm => "holm",
            Self::Lent => "lent",
            Self::Union => "union",
            Self::Fdr => "fdr",
            Self::Paper => "paper",
            Self::None => "none",
        }
    }

    /// The default guarantee of a policy.
    pub fn natural(policy: &str) -> Self {
        natural_guarantee(policy).into()
    }
}

impl fmt::Display for GuaranteeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<GuaranteeName> for Guarantee {
    fn from(name: GuaranteeName) -> Self {
        match name {
            GuaranteeName::Holm => Self::Holm,
            GuaranteeName::Lent => Self::Lent,
            GuaranteeName::Union => Self::Union,
            GuaranteeName::Fdr => Self::FalseDiscovery,
            GuaranteeName::Paper => Self::Paper,
            GuaranteeName::None => Self::Nothing,
        }
    }
}

impl From<Guarantee> for GuaranteeName {
    fn from(guarantee: Guarantee) -> Self {
        match guarantee {
            Guarantee::Holm => Self::Holm,
            Guarantee::Lent => Self::Lent,
            Guarantee::Union => Self::Union,
            Guarantee::FalseDiscovery => Self::Fdr,
            Guarantee::Paper => Self::Paper,
            Guarantee::Nothing => Self::None,
        }
    }
}

/// The unit of money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Tokens, in and out.
    Tokens,
    /// US dollars.
    Dollars,
    /// Seconds of a verifier's time.
    Seconds,
    /// Calls.
    #[default]
    Calls,
}

impl Unit {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Dollars => "dollars",
            Self::Seconds => "seconds",
            Self::Calls => "calls",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_when_shown_read_and_written() {
        use GuaranteeName::{Fdr, Holm, Lent, Paper, Union};
        for guarantee in [Lent, Holm, Union, Fdr, Paper, GuaranteeName::None] {
            let text = serde_json::to_string(&guarantee).unwrap();
            assert_eq!(text, format!("\"{guarantee}\""));
            assert_eq!(serde_json::from_str::<GuaranteeName>(&text).unwrap(), guarantee);
            assert_eq!(GuaranteeName::from(Guarantee::from(guarantee)), guarantee);
        }
        for unit in [Unit::Tokens, Unit::Dollars, Unit::Seconds, Unit::Calls] {
            let text = serde_json::to_string(&unit).unwrap();
            assert_eq!(text, format!("\"{unit}\""));
            assert_eq!(serde_json::from_str::<Unit>(&text).unwrap(), unit);
        }
    }

    #[test]
    fn the_default_guarantee_is_that_of_the_core() {
        assert_eq!(Guarantee::from(GuaranteeName::default()), Guarantee::default());
    }
}
