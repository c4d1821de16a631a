//! Points and boxes on the sheet, in SVG user units: x to the right, y down.

/// A box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Rect {
    pub(crate) const fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) const fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) const fn centre(&self) -> Spot {
        Spot { x: self.left.midpoint(self.right), y: self.top.midpoint(self.bottom) }
    }

    /// The x at this part of the width, from the left.
    pub(crate) const fn x_at(&self, fraction: f64) -> f64 {
        self.left + self.width() * fraction
    }

    /// The y at this part of the height, from the bottom.
    pub(crate) const fn y_at(&self, fraction: f64) -> f64 {
        self.bottom - self.height() * fraction
    }

    pub(crate) const fn grown(&self, by: f64) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    pub(crate) fn holds(&self, spot: Spot) -> bool {
        (self.left..=self.right).contains(&spot.x) && (self.top..=self.bottom).contains(&spot.y)
    }
}

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

pub(crate) const fn spot(x: f64, y: f64) -> Spot {
    Spot { x, y }
}

/// A count as a number to calculate with.
pub(crate) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
