//! Why a world cannot be made.

use crate::noise::DeviationError;
use crate::pools::PoolError;

/// Why a world cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// The world has recorded answers, and none were given.
    #[error("means.pools needs recorded answers, and none were given")]
    PoolsMissing,
    /// The recorded answers cannot be read.
    #[error(transparent)]
    Pools(#[from] PoolError),
    /// A list does not have one gap, threshold or kind for each price or arm.
    #[error("{0}")]
    Count(String),
    /// No attribute at all, or more means than memory can hold.
    #[error(
        "{0} arms with {1} attributes: at least one attribute and at most {PAIRS_MAX} pairs are needed"
    )]
    Size(usize, usize),
    /// Bad arms fail an attribute that does not exist.
    #[error("fails: {0} is not an attribute, they are 0 to 3")]
    Fails(usize),
    /// The scores cannot have this deviation.
    #[error("deviation: {0}")]
    Deviation(#[from] DeviationError),
    /// The parts of the variance of bills are not shares of it.
    #[error("bills: between = {0} and between_pairs = {1} are not shares that add up to 1 at most")]
    Between(f64, f64),
    /// Questions that cannot be invented.
    #[error("questions: {0}")]
    Questions(&'static str),
    /// A pilot that cannot be made, or that is implausibly large.
    #[error(
        "calibrated: a pilot has calls, at least as many answers as labels, and a precision and a delta strictly between 0 and 1"
    )]
    Pilot,
    /// More right answers than answers.
    #[error("right: {0} of {1} answers")]
    Right(usize, usize),
    /// The parameters are not those of a Beta law.
    #[error("{0}: [{1}, {2}] are not two positive numbers")]
    MeansLaw(&'static str, f64, f64),
}

impl WorldError {
    /// Checks the parameters of a Beta law.
    pub fn check_law(name: &'static str, [a, b]: [f64; 2]) -> Result<(), Self> {
        let is_law = a > 0.0 && b > 0.0 && a + b < f64::INFINITY;
        if is_law { Ok(()) } else { Err(Self::MeansLaw(name, a, b)) }
    }
}

/// The most pairs of arm and attribute in a world.
pub const PAIRS_MAX: usize = 1 << 25;
