//! The claims of a run: the lines of its file of labels, their result, and the order of labelling.

pub(crate) mod labelled;
pub(crate) mod line;
pub(crate) mod order;
#[cfg(test)]
mod tests;

/// More names than this are an error in the file.
const LABELLERS_MAX: usize = 1000;
const LABELS_PER_CARD_MAX: usize = 9;
pub(crate) const NAME_BYTES_MAX: usize = 200;
