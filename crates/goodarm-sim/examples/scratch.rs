#![allow(warnings)]
use goodarm_core::*;
use goodarm_sim::{episode, random::Random, world::*};
use std::time::Instant;
fn a2() -> Vec<Vec<f64>> {
    let g = [
        [0.25, 0.30, 0.35, 0.45],
        [0.22, 0.28, 0.33, 0.43],
        [0.20, 0.25, 0.30, 0.40],
        [0.18, 0.22, 0.28, 0.37],
        [0.16, 0.20, 0.25, 0.33],
        [0.14, 0.18, 0.22, 0.30],
    ];
    let bc = [
        [0.40, 0.40, 0.40],
        [0.35, 0.40, 0.35],
        [0.35, 0.35, 0.35],
        [0.30, 0.30, 0.35],
        [0.30, 0.30, 0.30],
        [0.25, 0.25, 0.30],
    ];
    let bx = [-0.30, -0.25, -0.20, -0.20, -0.15, -0.10];
    let mut v: Vec<Vec<f64>> = g.iter().map(|r| r.iter().map(|x| 0.5 + x).collect()).collect();
    for i in 0..6 {
        let mut r: Vec<f64> = bc[i].iter().map(|x| 0.5 + x).collect();
        r.push(0.5 + bx[i]);
        v.push(r);
    }
    v
}
fn g() -> Vec<Vec<f64>> {
    // GSM8K-like: 71 good
    let mut v = vec![];
    for i in 0..100 {
        let p = if i < 71 {
            0.60 + 0.39 * (i as f64 + 0.5) / 71.0
        } else {
            0.05 + 0.40 * ((i - 71) as f64 + 0.5) / 29.0
        };
        let q = 1.0 - p;
        let maj = p.powi(5) + 5.0 * p.powi(4) * q + 10.0 * p.powi(3) * q * q;
        v.push(vec![0.98, p, maj]);
    }
    v
}
struct Inst {
    means: Vec<Vec<f64>>,
    costs: Vec<f64>,
    xi: Vec<f64>,
    law: ScoreLaw,
    model: ScoreModel,
}
fn tstar(i: &Inst) -> f64 {
    let mut s = 0.0;
    for r in &i.means {
        if r.iter().zip(&i.xi).all(|(m, x)| m >= x) {
            for ((m, x), c) in r.iter().zip(&i.xi).zip(&i.costs) {
                s += match i.law {
                    ScoreLaw::Binary => {
                        let kl = m * (m / x).ln()
                            + if *m < 1.0 { (1.0 - m) * ((1.0 - m) / (1.0 - x)).ln() } else { 0.0 };
                        c / kl
                    }
                    _ => 2.0 * c / ((m - x) * (m - x)),
                };
            }
        }
    }
    s
}
fn shuffled(m: &Vec<Vec<f64>>, seed: u64) -> Vec<Vec<f64>> {
    let mut v = m.clone();
    let mut r = Random::at(seed, &[77]);
    for i in (1..v.len()).rev() {
        let j = r.below(i as u64 + 1) as usize;
        v.swap(i, j);
    }
    v
}
fn run(
    i: &Inst,
    policy: &str,
    gu: Guarantee,
    b: f64,
    reps: u64,
    w: usize,
    share: f64,
) -> (f64, f64, f64) {
    let ts = tstar(i);
    let budget = b * ts * (1.0f64 / 0.02).ln();
    let mut sum = 0.0;
    let mut sq = 0.0;
    let mut bad = 0.0;
    for rep in 0..reps {
        let means = shuffled(&i.means, rep);
        let mut world = World::new(means.clone(), vec![i.law; i.costs.len()], &i.costs);
        if w > 1 {
            world.latency = Latency { slowdown: 3.0, split: 0.5 };
        }
        let p = Problem::new(ProblemSpec {
            arms: means.len(),
            attributes: (0..i.costs.len())
                .map(|k| AttributeSpec {
                    name: k.to_string(),
                    price: i.costs[k],
                    threshold: i.xi[k],
                    scores: i.model,
                })
                .collect(),
            budget,
            delta: 0.02,
            guarantee: gu,
            prior_weights: None,
        })
        .unwrap();
        let pol = policy::by_name(
            policy,
            &policy::Parameters { means: Some(means.clone()), ..Default::default() },
        )
        .unwrap();
        let mut s =
            Session::with_options(p, pol, Options { in_flight_share: share, ..Default::default() })
                .unwrap();
        let e = episode::run(&mut s, &world, rep, w, |_, _, _| ());
        let good = e.certified.iter().filter(|a| world.is_good(**a, &i.xi)).count() as f64;
        PULLS.fetch_add(e.pull_count, std::sync::atomic::Ordering::Relaxed);
        bad += e.certified.len() as f64 - good;
        sum += good;
        sq += good * good;
    }
    let n = reps as f64;
    (sum / n, ((sq / n - (sum / n) * (sum / n)).max(0.0) / n).sqrt(), bad / n)
}
static PULLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let sub = ScoreModel::SubGaussian { sigma: 1.0, lowest: None };
    let (inst, bs, reps): (Inst, Vec<f64>, u64) = match a[1].as_str() {
        "a2" => (
            Inst {
                means: a2(),
                costs: vec![1., 2., 4., 25.],
                xi: vec![0.5; 4],
                law: ScoreLaw::Gaussian(1.0),
                model: sub,
            },
            vec![0.5, 1., 2., 3.],
            200,
        ),
        "a2b" => (
            Inst {
                means: a2(),
                costs: vec![1., 2., 4., 25.],
                xi: vec![0.5; 4],
                law: ScoreLaw::Binary,
                model: ScoreModel::Binary,
            },
            vec![0.5, 1., 2., 3.],
            200,
        ),
        "a2beta" => (
            Inst {
                means: a2(),
                costs: vec![1., 2., 4., 25.],
                xi: vec![0.5; 4],
                law: ScoreLaw::Beta(4.0),
                model: ScoreModel::Bounded,
            },
            vec![0.02, 0.05, 0.1, 0.15],
            100,
        ),
        "g" => (
            Inst {
                means: g(),
                costs: vec![1., 10., 50.],
                xi: vec![0.5; 3],
                law: ScoreLaw::Binary,
                model: ScoreModel::Binary,
            },
            vec![0.1, 0.5, 1., 2.],
            40,
        ),
        _ => panic!(),
    };
    let gu = match a[3].as_str() {
        "holm" => Guarantee::Holm,
        "union" => Guarantee::Union,
        "paper" => Guarantee::Paper,
        _ => Guarantee::FalseDiscovery,
    };
    let w: usize = a.get(4).map_or(1, |x| x.parse().unwrap());
    let share: f64 = a.get(5).map_or(0.02, |x| x.parse().unwrap());
    let tt = Instant::now();
    println!("T*={:.1}", tstar(&inst));
    for b in bs {
        let t = Instant::now();
        let r = run(&inst, &a[2], gu, b, reps, w, share);
        println!(
            "{} {} {} W={} b={b}: {:.2} ± {:.2} bad {:.3}  {:.2}s",
            a[1],
            a[2],
            a[3],
            w,
            r.0,
            r.1,
            r.2,
            t.elapsed().as_secs_f64()
        );
    }
    let n = PULLS.load(std::sync::atomic::Ordering::Relaxed);
    println!("{} pulls, {:.0} ns each", n, tt.elapsed().as_nanos() as f64 / n as f64);
}
