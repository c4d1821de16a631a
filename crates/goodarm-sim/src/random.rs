//! Random numbers that are a function of where they are needed: SplitMix64, seeded by hashing.

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

    /// The stream of a seed and a path below it; different paths give unrelated streams.
    pub fn at(seed: u64, path: &[u64]) -> Self {
        let mut state = mix(seed ^ 0x5851_f42d_4c95_7f2d);
        for &step in path {
            state = mix(state ^ mix(step.wrapping_add(GOLDEN)));
        }
        Self { state }
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform on (0, 1), neither end included.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub const fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A whole number below `bound`, which is not 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The bias is below bound/2⁶⁴.
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(core::f64::consts::TAU * self.uniform())
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

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(draw: impl Fn(&mut Random) -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        let count = 200_000;
        for index in 0..count {
            let x = draw(&mut Random::at(3, &[index]));
            sum += x;
            squares += x * x;
        }
        let mean = sum / 200_000.0;
        (mean, squares / 200_000.0 - mean * mean)
    }

    #[test]
    fn first_draws_of_neighbouring_streams_have_the_right_moments() {
        let cases: [(&str, f64, f64, (f64, f64)); 5] = [
            ("uniform", 0.5, 1.0 / 12.0, moments(Random::uniform)),
            ("normal", 0.0, 1.0, moments(Random::normal)),
            ("exponential", 1.0, 1.0, moments(Random::exponential)),
            ("gamma", 0.7, 0.7, moments(|random| random.gamma(0.7))),
            ("beta", 0.6, 0.048, moments(|random| random.beta(2.4, 1.6))),
        ];
        for (name, mean, variance, found) in cases {
            assert!((found.0 - mean).abs() < 0.01, "{name}: {found:?}");
            assert!((found.1 - variance).abs() < 0.03, "{name}: {found:?}");
        }
    }
}
