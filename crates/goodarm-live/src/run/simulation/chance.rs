//! Random numbers that depend only on where they are used.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    /// The stream of a place. Its numbers do not depend on the order in which places are used.
    pub(super) fn at(place: &[u64]) -> Self {
        let mut chance = Self(0);
        for &step in place {
            chance.0 ^= step;
            chance.0 = chance.next();
        }
        chance
    }

    /// SplitMix64.
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
    pub(super) const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn is(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A number from 0 to `count` - 1.
    pub(super) const fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number between two positive numbers, uniform on a logarithmic scale.
    pub(super) fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let count = choices.len() as u64;
        choices[usize::try_from(self.below(count)).expect("fewer than there are")]
    }
}
