//! Identifiers and checked numbers.

use core::fmt;

use thiserror::Error;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index of this item in arrays.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The identifier of the item at an index. Panics for an index of 2³² or more.
            pub fn at(index: usize) -> Self {
                Self(u32::try_from(index).expect("a problem has fewer than 2^32 of anything"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// One candidate answer; q in the paper, counted from 0.
    ArmId,
    /// One kind of score, with a threshold; m in the paper, counted from 0.
    AttributeId,
    /// One question, which several arms may answer; counted from 0.
    QuestionId,
    /// One maker of fresh answers, counted from 0.
    GeneratorId,
    /// One service, counted from 0: the verifiers in the order of their first attribute, then
    /// the generators. A verifier whose reply scores several attributes is one service.
    ServiceId,
}

/// The number of a final answer among those of its question: equal numbers are equal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u32);

/// δ: the probability with which any certificate may be wrong; strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct ErrorRate {
    value: f64,
    ln_inverse: f64,
}

/// The value is not strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{0} is not strictly between 0 and 1")]
pub struct OutsideUnitInterval(pub f64);

impl ErrorRate {
    /// Checks that `value` is strictly between 0 and 1.
    pub fn new(value: f64) -> Result<Self, OutsideUnitInterval> {
        if value > 0.0 && value < 1.0 {
            Ok(Self { value, ln_inverse: -libm::log(value) })
        } else {
            Err(OutsideUnitInterval(value))
        }
    }

    /// δ itself.
    pub const fn get(self) -> f64 {
        self.value
    }

    /// ln(1/(δ share)): what evidence must reach with this share of δ.
    pub fn level_of(self, share: Share) -> f64 {
        self.ln_inverse + share.ln_inverse()
    }

    /// ln(1/δ), finite even for the smallest positive δ.
    pub const fn ln_inverse(self) -> f64 {
        self.ln_inverse
    }
}

/// A part of δ, exact: what is lent and what comes back add up without rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u64);

impl Share {
    /// All of δ.
    pub const WHOLE: Self = Self(1 << 62);
    /// No part of δ.
    pub const NONE: Self = Self(0);

    /// This fraction of δ, rounded down; a fraction below 0 counts as 0, and one above 1 as 1.
    pub fn of(fraction: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let parts = (fraction * Self::PARTS) as u64;
        Self(parts).min(Self::WHOLE)
    }

    /// A number of parts of 2⁶², as in journals; `None` if that is more than all.
    pub fn from_parts(parts: u64) -> Option<Self> {
        (parts <= Self::WHOLE.0).then_some(Self(parts))
    }

    /// The share as a number of parts of 2⁶².
    pub const fn parts(self) -> u64 {
        self.0
    }

    /// The share as a fraction of δ.
    #[expect(clippy::cast_precision_loss, reason = "a share is compared as parts, shown as this")]
    pub const fn fraction(self) -> f64 {
        self.0 as f64 / Self::PARTS
    }

    /// ln(1/fraction): the level for this share is ln(1/δ) plus this.
    pub fn ln_inverse(self) -> f64 {
        -libm::log(self.fraction())
    }

    /// One of `count` equal parts, rounded down; the whole share for a count of 0.
    pub fn divided(self, count: usize) -> Self {
        Self(self.0 / (count.max(1) as u64))
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    const PARTS: f64 = 4_611_686_018_427_387_904.0;
}
