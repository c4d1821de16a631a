//! Why a world cannot be made.

use crate::noise::DeviationError;
use crate::pools::PoolError;

/// Why a world cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// Its answers are recorded ones.
    #[error("means.pools needs recorded answers, and none were given")]
    PoolsMissing,
    /// The recorded answers cannot be read.
    #[error(transparent)]
    Pools(#[from] PoolError),
    /// One gap, threshold or kind for each price or arm.
    #[error("{given} {what} for {wanted} {owners}")]
    Count {
        /// Such as gaps.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there should be.
        wanted: usize,
        /// Such as prices.
        owners: &'static str,
    },
    /// No attribute at all, or more means than a computer could hold.
    #[error(
        "{arms} arms with {attributes} attributes: at least one attribute and at most {PAIRS_MAX} pairs are needed"
    )]
    Size {
        /// How many arms.
        arms: usize,
        /// How many attributes each has.
        attributes: usize,
    },
    /// Bad arms fail an attribute that is not there.
    #[error("fails: {0} is not an attribute, they are 0 to 3")]
    Fails(usize),
    /// Scores cannot scatter like that.
    #[error("deviation: {0}")]
    Deviation(#[from] DeviationError),
    /// Not shares of one variance.
    #[error("bills: between = {0} and between_pairs = {1} are not shares that add up to 1 at most")]
    Between(f64, f64),
    /// Questions that cannot be invented.
    #[error("questions: {0}")]
    Questions(&'static str),
    /// A pilot that cannot be made, or is larger than anyone would make it.
    #[error(
        "calibrated: a pilot has calls, at least as many answers as labels, and a precision and a delta strictly between 0 and 1"
    )]
    Pilot,
    /// More right answers than answers.
    #[error("right: {right} of {answers} answers")]
    Right {
        /// How many are right.
        right: usize,
        /// How many there are.
        answers: usize,
    },
    /// Not the parameters of a Beta law.
    #[error("{0}: [{1}, {2}] are not two positive numbers")]
    MeansLaw(&'static str, f64, f64),
}

/// The most pairs of arm and attribute in a world.
pub const PAIRS_MAX: usize = 1 << 25;
