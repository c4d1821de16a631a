//! Labels that would overlap are pushed apart, never across each other.

/// The preferred middle of a label, and its height.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelBox {
    pub(crate) middle: f64,
    pub(crate) height: f64,
}

/// Middles of labels that do not overlap, in the order of the list from top to bottom, between `top` and
/// `bottom`, and as near to the preferred ones as possible (least squares). If the labels together are higher
/// than the space, the last ones end below it.
pub(crate) fn spread(labels: &[LabelBox], top: f64, bottom: f64) -> Vec<f64> {
    // Subtract from the top of each label the heights of all labels above it. Labels do not overlap if these
    // numbers do not decrease. The nearest such numbers are the isotonic regression of the preferred ones,
    // found by pooling neighbours that are out of order.
    let mut above = 0.0;
    let mut pools: Vec<Pool> = Vec::new();
    for label in labels {
        let mut pool = Pool { sum: label.middle - label.height / 2.0 - above, count: 1 };
        above += label.height;
        while let Some(last) = pools.pop_if(|last| last.mean() >= pool.mean()) {
            pool = Pool { sum: pool.sum + last.sum, count: pool.count + last.count };
        }
        pools.push(pool);
    }

    // Numbers that are clamped to the limits are still the nearest.
    let limit = f64::max(top, bottom - above);
    let places = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean(), pool.count));
    let mut above = 0.0;
    let mut middles = Vec::with_capacity(labels.len());
    for (label, place) in labels.iter().zip(places) {
        middles.push(place.clamp(top, limit) + above + label.height / 2.0);
        above += label.height;
    }
    middles
}

/// Neighbouring labels that touch.
struct Pool {
    sum: f64,
    count: usize,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / crate::geometry::count(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn labels_never_overlap_and_stay_inside_if_they_fit() {
        let mut random = Random::new(7);
        for _ in 0..5000 {
            let labels: Vec<LabelBox> = (0..random.below(12))
                .map(|_| {
                    // Every third label is the same, as for lines that coincide.
                    let middle =
                        if random.below(3) == 0 { 50.0 } else { random.between(-20.0, 320.0) };
                    LabelBox { middle, height: random.between(5.0, 40.0) }
                })
                .collect();
            check_spread(&labels, 0.0, 300.0);
        }
    }

    fn check_spread(labels: &[LabelBox], top: f64, bottom: f64) {
        let middles = spread(labels, top, bottom);
        let total: f64 = labels.iter().map(|label| label.height).sum();
        let edges =
            |i: usize| (middles[i] - labels[i].height / 2.0, middles[i] + labels[i].height / 2.0);
        for i in 0..labels.len() {
            assert!(edges(i).0 >= top - 1e-9);
            assert!(edges(i).1 <= f64::max(bottom, top + total) + 1e-9);
            assert!(i == 0 || edges(i - 1).1 <= edges(i).0 + 1e-9, "{labels:?} {middles:?}");
        }
    }

    #[test]
    fn labels_with_room_stay_where_they_want_to_be() {
        let labels = [10.0, 50.0, 90.0].map(|middle| LabelBox { middle, height: 15.0 });
        let middles = spread(&labels, 0.0, 100.0);
        assert!(
            middles.iter().zip([10.0, 50.0, 90.0]).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-9)
        );
    }

    #[test]
    fn equal_labels_share_the_displacement_in_the_order_of_the_list() {
        let labels = [50.0; 3].map(|middle| LabelBox { middle, height: 10.0 });
        let middles = spread(&labels, 0.0, 100.0);
        assert!(
            middles.iter().zip([40.0, 50.0, 60.0]).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-9)
        );
    }
}
