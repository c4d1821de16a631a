//! Identifiers and checked numbers: what cannot be wrong once it exists.

use core::fmt;

use thiserror::Error;

/// One candidate answer; q in the paper, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArmId(pub u32);

/// One verifier; m in the paper, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId(pub u32);

impl ArmId {
    /// The position of this arm in arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The arm at a position below [`crate::problem::ARMS_MAX`].
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a problem has at most ARMS_MAX arms"))
    }
}

impl AttributeId {
    /// The position of this attribute in arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The attribute at a position below [`crate::problem::ATTRIBUTES_MAX`].
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("a problem has at most ATTRIBUTES_MAX attributes"))
    }
}

impl fmt::Display for ArmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

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

    /// ln(1/δ), finite even for the smallest positive δ.
    pub const fn ln_inverse(self) -> f64 {
        self.ln_inverse
    }
}
