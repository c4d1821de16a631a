//! Mean and evidence of a pair after each call, in a few bytes, for small charts.

/// The points of a pair, thinned out if there are many.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trail {
    /// The number of calls per point, less one.
    skipped: u32,
    count: u64,
    /// The mean and the share of the needed evidence, each as an index into [`LETTERS`].
    points: Vec<[u8; 2]>,
}

impl Trail {
    /// Adds a call: the mean so far, and the evidence as a share of the needed evidence.
    pub(crate) fn push(&mut self, mean: f64, share: f64) {
        let point = [place(mean, MEAN_STEPS), place(share, SHARE_STEPS)];
        let stride = u64::from(self.skipped) + 1;
        if self.count.is_multiple_of(stride) {
            if self.points.len() == POINTS_MAX {
                self.thin();
            }
            self.points.push(point);
        } else if let Some(last) = self.points.last_mut() {
            // The last point is always the newest call.
            *last = point;
        }
        self.count += 1;
    }

    /// Adds points up to call number `count`. A new answer gets all earlier votes at once, so they all have the same
    /// point.
    pub(crate) fn push_until(&mut self, count: u64, mean: f64, share: f64) {
        while self.count < count {
            self.push(mean, share);
        }
    }

    /// Drops every second point; the others are the ends of strides twice as long. The number of
    /// points is even, so the next point begins a stride.
    fn thin(&mut self) {
        let mut index = 0;
        self.points.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        self.skipped = self.skipped * 2 + 1;
    }

    /// The mean and the share of the needed evidence, a letter for each point. Point i, counted from 1, is after call
    /// i × stride; the last point is after the last call. The stride is the smallest power of two that gives this
    /// number of points.
    pub(crate) fn letters(&self) -> [String; 2] {
        let spell = |part: usize| {
            self.points.iter().map(|point| char::from(LETTERS[usize::from(point[part])])).collect()
        };
        [spell(0), spell(1)]
    }
}

/// A number from 0 to 1 in this many steps; numbers above 1 get the letters that are left, up to the last.
fn place(number: f64, steps: f64) -> u8 {
    let step = (number * steps).round().clamp(0.0, 63.0);
    // NaN, which only an exact verifier's evidence could give, becomes 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 63, or NaN")]
    {
        step as u8
    }
}

/// A point is written as the letter at its index.
pub(crate) const LETTERS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// A mean of 1 is the last letter.
pub(crate) const MEAN_STEPS: f64 = 63.0;
/// The needed evidence is letter 56; the last seven are for more.
pub(crate) const SHARE_STEPS: f64 = 56.0;
const POINTS_MAX: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(length: u32) -> Trail {
        let mut trail = Trail::default();
        for call in 1..=length {
            trail.push(f64::from(call) / f64::from(length), 0.0);
        }
        trail
    }

    /// The stride as the page finds it.
    fn stride(length: u32, points: usize) -> u32 {
        let mut stride = 1;
        while length.div_ceil(stride) as usize > points {
            stride *= 2;
        }
        stride
    }

    #[test]
    fn each_point_is_where_the_page_draws_it() {
        for length in [1, 2, 47, 48, 49, 96, 97, 100, 1000, 12_345] {
            let trail = trail(length);
            let stride = stride(length, trail.points.len());
            assert_eq!(length.div_ceil(stride) as usize, trail.points.len(), "{length}");
            for (index, point) in (1..).zip(&trail.points) {
                let call = (index * stride).min(length);
                let expected = place(f64::from(call) / f64::from(length), MEAN_STEPS);
                assert_eq!(point[0], expected, "{length}: point {index}");
            }
        }
    }

    #[test]
    fn votes_before_an_answer_was_made_have_points() {
        let mut trail = Trail::default();
        trail.push_until(3, 0.0, 0.0);
        trail.push_until(4, 1.0, 0.0);
        assert_eq!(trail.letters()[0], "AAA_");
        trail.push_until(4, 0.5, 0.0);
        assert_eq!(trail.letters()[0], "AAA_", "there was no call since");
    }

    #[test]
    fn any_number_has_a_letter() {
        let mut trail = Trail::default();
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -3.0, 0.5, 1e300] {
            trail.push(number, number);
        }
        assert_eq!(trail.letters()[0], "A_AAg_");
    }
}
