//! Draws follow their laws: moments, tails, and the whole distribution function.
//!
//! Every sample is the first draw of each of many neighbouring streams, as in verifier calls.

use super::*;

const COUNT: u32 = 1_000_000;

fn sample(draw: impl Fn(&mut Random) -> f64) -> Vec<f64> {
    (0..COUNT)
        .map(|index| {
            let path = [u64::from(index % 12), u64::from(index / 12 % 4), u64::from(index / 48)];
            draw(&mut Random::at(3, &path))
        })
        .collect()
}

/// The distance of the mean of `value` over the sample from `expected`, in standard errors.
fn deviation(sample: &[f64], expected: f64, value: impl Fn(f64) -> f64) -> f64 {
    let count = f64::from(COUNT);
    let mean = sample.iter().map(|&x| value(x)).sum::<f64>() / count;
    let squares: f64 = sample.iter().map(|&x| (value(x) - mean) * (value(x) - mean)).sum();
    (mean - expected) / libm::sqrt(squares / count / count)
}

/// Kolmogorov-Smirnov: √n times the largest distance from the distribution function. Above 2 in one sample
/// in 1500.
fn distance(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let count = f64::from(COUNT);
    let mut largest: f64 = 0.0;
    let mut below = 0.0;
    for x in sample {
        let expected = cdf(x) * count;
        largest = largest.max(expected - below).max(below + 1.0 - expected);
        below += 1.0;
    }
    largest / libm::sqrt(count)
}

/// P(a standard normal number is above x).
fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2)
}

const FAR: f64 = 4.0;

#[test]
fn the_normal_law_has_its_moments() {
    let sample = sample(Random::normal);
    for (power, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (5, 0.0), (6, 15.0)] {
        let z = deviation(&sample, expected, |x| x.powi(power));
        assert!(z.abs() < FAR, "moment {power} is {z} standard errors off");
    }
}

#[test]
fn the_normal_law_has_its_tails() {
    let sample = sample(Random::normal);
    // The ziggurat's tail begins at 3.654; below 4 there are enough draws to count.
    for x in [0.0, 0.3, 1.0, 2.0, 3.0, 3.5, 3.654, 3.8, 4.0] {
        for sign in [1.0, -1.0] {
            let beyond = |draw: f64| f64::from(u8::from(sign * draw > x));
            let z = deviation(&sample, upper_tail(x), beyond);
            assert!(z.abs() < FAR, "beyond {}: {z} standard errors off", sign * x);
        }
    }
    let largest = sample.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    assert!(largest > 4.4 && largest < 6.5, "the largest of a million is {largest}");
}

#[test]
fn draws_follow_their_distribution_functions() {
    let exponential_cdf = |x: f64| -libm::expm1(-x);
    // Beta(2, 2) and Beta(½, 1), which have simple distribution functions.
    let cases: [(&str, f64); 5] = [
        ("uniform", distance(sample(Random::uniform), |x| x)),
        ("normal", distance(sample(Random::normal), |x| upper_tail(-x))),
        ("exponential", distance(sample(Random::exponential), exponential_cdf)),
        ("beta", distance(sample(|random| random.beta(2.0, 2.0)), |x| x * x * (3.0 - 2.0 * x))),
        ("small beta", distance(sample(|random| random.beta(0.5, 1.0)), libm::sqrt)),
    ];
    for (law, distance) in cases {
        assert!(distance < 2.0, "{law}: {distance}");
    }
}

#[test]
fn gamma_and_beta_have_their_moments() {
    let gamma = sample(|random| random.gamma(0.7));
    let beta = sample(|random| random.beta(2.4, 1.6));
    for (law, z) in [
        ("mean of gamma", deviation(&gamma, 0.7, |x| x)),
        ("square of gamma", deviation(&gamma, 0.7 * 1.7, |x| x * x)),
        ("mean of beta", deviation(&beta, 0.6, |x| x)),
        ("square of beta", deviation(&beta, 0.36 + 0.048, |x| x * x)),
    ] {
        assert!(z.abs() < FAR, "{law}: {z} standard errors off");
    }
}

#[test]
fn neighbouring_streams_are_unrelated() {
    let draw = |path: [u64; 3]| Random::at(5, &path).normal();
    for (neighbour, step) in [("arm", [1, 0, 0]), ("attribute", [0, 1, 0]), ("call", [0, 0, 1])] {
        let products: Vec<f64> = (0..COUNT)
            .map(|index| {
                let path =
                    [u64::from(index % 12), u64::from(index / 12 % 4), u64::from(index / 48)];
                let next = core::array::from_fn(|at| path[at] + step[at]);
                draw(path) * draw(next)
            })
            .collect();
        let z = deviation(&products, 0.0, |product| product);
        assert!(z.abs() < FAR, "{neighbour}: correlation {z} standard errors from 0");
    }
}

#[test]
fn uniform_numbers_are_inside_the_interval() {
    let ends = [0, u64::MAX].map(uniform_of);
    assert!(ends[0] > 0.0 && ends[1] < 1.0, "{ends:?}");
}
