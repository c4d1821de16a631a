//! Standard normal draws by the ziggurat of Marsaglia and Tsang, in Doornik's form.
//!
//! The area below exp(-x²/2) is cut into layers of equal area, so a draw is a layer and a position in it. For about
//! 99 draws in a hundred a single comparison accepts it. The wide bottom layer includes the tail.
//!
//! rand_distr has the same algorithm, but uses the logarithms of std if any crate enables the feature `std` of
//! num-traits; a seed would then give different bits on different machines.

use std::sync::LazyLock;

use crate::random::Random;

/// The number of layers: one for each value of a byte.
const LAYERS: usize = 256;

/// The start of the tail: only with this number do 256 layers end at the top of the density.
const TAIL: f64 = 3.654_152_885_361_009;

static LAYER_TABLE: LazyLock<Layers> = LazyLock::new(Layers::new);

/// Layer i lies between `heights[i]` and `heights[i + 1]`, and reaches from 0 to `widths[i]`; up to
/// `widths[i + 1]` all of it is below the density.
struct Layers {
    widths: [f64; LAYERS + 1],
    heights: [f64; LAYERS + 1],
}

impl Layers {
    fn new() -> Self {
        let tail_area = libm::sqrt(0.5 * core::f64::consts::PI)
            * libm::erfc(TAIL * core::f64::consts::FRAC_1_SQRT_2);
        let area = TAIL * density(TAIL) + tail_area;
        let mut widths = [0.0; LAYERS + 1];
        widths[0] = area / density(TAIL);
        widths[1] = TAIL;
        for layer in 1..LAYERS - 1 {
            let top = density(widths[layer]) + area / widths[layer];
            widths[layer + 1] = libm::sqrt(-2.0 * libm::log(top));
        }
        Self { widths, heights: widths.map(density) }
    }
}

/// exp(-x²/2), which is 1 at the top.
fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x)
}

pub(super) fn draw(random: &mut Random) -> f64 {
    let Layers { widths, heights } = &*LAYER_TABLE;
    loop {
        let bits = random.bits();
        // Eight bits for the layer, and 52 others for the position.
        let layer = usize::from(bits.to_le_bytes()[0]);
        let place = signed_unit(bits);
        let x = place * widths[layer];
        if x.abs() < widths[layer + 1] {
            return x;
        }
        if layer == 0 {
            return beyond_tail(random).copysign(place);
        }
        let height = heights[layer] + (heights[layer + 1] - heights[layer]) * random.uniform();
        if height < density(x) {
            return x;
        }
    }
}

/// Uniform on [-1, 1) from the upper 52 bits.
#[expect(clippy::cast_precision_loss, reason = "52 bits are exact")]
const fn signed_unit(bits: u64) -> f64 {
    (bits.cast_signed() >> 12) as f64 / (1_u64 << 51) as f64
}

/// A draw above `TAIL`, by rejection from an exponential law.
#[cold]
fn beyond_tail(random: &mut Random) -> f64 {
    loop {
        let excess = random.exponential() / TAIL;
        if 2.0 * random.exponential() > excess * excess {
            return TAIL + excess;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_equal_areas_and_end_at_the_top() {
        let Layers { widths, heights } = Layers::new();
        let area = widths[0] * heights[1];
        for layer in 1..LAYERS {
            let found = widths[layer] * (heights[layer + 1] - heights[layer]);
            assert!((found / area - 1.0).abs() < 1e-9, "layer {layer}: {found} and {area}");
        }
    }
}
