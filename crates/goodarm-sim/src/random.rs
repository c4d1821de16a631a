//! Random numbers that depend only on where they are used: SplitMix64, seeded by hashing.

mod ziggurat;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The stream of a seed and a path; different paths give independent streams.
    pub fn at(seed: u64, path: &[u64]) -> Self {
        // A polynomial in the steps separates paths, and one mix at the end makes them independent.
        let mut place = mix(seed ^ 0x5851_f42d_4c95_7f2d);
        for &step in path {
            place = place.wrapping_add(step).wrapping_mul(0xd134_2543_de82_ef95);
        }
        Self { state: mix(place) }
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A random index below `count`.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).expect("below a size")
    }

    /// Shuffles a list.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.index(last + 1));
        }
    }

    /// Uniform on (0, 1), neither end included.
    pub const fn uniform(&mut self) -> f64 {
        uniform_of(self.bits())
    }

    /// A whole number below `bound`, which is not 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The bias is below bound/2⁶⁴.
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        ziggurat::draw(self)
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Gamma with this shape and scale 1, by Marsaglia and Tsang.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::pow(self.uniform(), 1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            if libm::log(self.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }

    /// Beta with these parameters.
    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        let (one, other) = (self.gamma(a), self.gamma(b));
        one / (one + other)
    }
}

/// Uniform on (0, 1) from 52 bits and a half: with a 53rd bit the largest number would round to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
const fn uniform_of(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests;
