//! Random numbers for tests, the same on every run.

/// A linear congruential generator (Knuth, MMIX), of which the upper bits are used.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 32).expect("32 bits are left")
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * f64::from(self.next()) / f64::from(u32::MAX)
    }

    pub(crate) fn below(&mut self, bound: u32) -> usize {
        usize::try_from(self.next() % bound).expect("32 bits fit")
    }
}
