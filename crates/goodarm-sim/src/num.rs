//! Counts as real numbers.

/// A count of calls.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub const fn real(count: u64) -> f64 {
    count as f64
}

/// A count of answers.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub const fn size(count: usize) -> f64 {
    count as f64
}

/// The ratio of two counts.
pub const fn ratio(count: usize, of: usize) -> f64 {
    size(count) / size(of)
}
