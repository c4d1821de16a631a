//! The widths of the letters of Noto Sans. A test compares each with the typeface.

use std::sync::LazyLock;

/// The widths of consecutive letters, in [`UNITS_PER_EM`].
pub(super) struct WidthRow {
    pub(super) first: u32,
    /// Regular and bold.
    pub(super) widths: Vec<[u16; 2]>,
}

impl WidthRow {
    /// A row of the table: the code of its first letter, then the regular and the bold width of each letter,
    /// or one number if they are equal.
    fn read(row: &str) -> Option<Self> {
        let (first, widths) = row.split_once(' ')?;
        let widths = widths.split(' ').map(|width| {
            let (regular, bold) = width.split_once('/').unwrap_or((width, width));
            Some([regular.parse().ok()?, bold.parse().ok()?])
        });
        Some(Self {
            first: u32::from_str_radix(first, 16).ok()?,
            widths: widths.collect::<Option<_>>()?,
        })
    }
}

pub(super) const UNITS_PER_EM: f64 = 2048.0;

/// All rows of the table, in the order of their letters.
pub(super) static WIDTHS: LazyLock<Vec<WidthRow>> = LazyLock::new(|| {
    let rows = include_str!("widths.txt").lines();
    rows.map(|row| WidthRow::read(row).expect("a row of the table")).collect()
});
