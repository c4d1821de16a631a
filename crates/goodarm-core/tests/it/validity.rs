//! Validity, shown and not claimed.

mod hostile;
mod lab;
mod limit;

use goodarm_core::Guarantee;
use lab::{BINARY, BOUNDED, FLOORED, FLOORLESS, Lab};

#[test]
fn probe() {
    for guarantee in
        [Guarantee::Paper, Guarantee::Union, Guarantee::Holm, Guarantee::FalseDiscovery]
    {
        for scores in [FLOORED, FLOORLESS, BOUNDED, BINARY] {
            let t = std::time::Instant::now();
            let mut line = String::new();
            for policy in ["chaser","gambler"] {
                line += &format!(" {policy}");
                for concurrency in [1, 16, 64] {
                    let lab = Lab { concurrency, ..Lab::new(guarantee, scores) };
                    let errors = lab.errors(policy, 200);
                    line += &format!(" {errors}");
                }
            }
            eprintln!("{guarantee:?} {} {:?}: {line}", scores.name, t.elapsed());
        }
    }
}
