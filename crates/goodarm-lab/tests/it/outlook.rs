//! How good the forecasts during a run are, on the laboratory's families. At a quarter, half and three quarters of the
//! spend: the expected number of certificates at the end, and the money that will be spent.

use goodarm_core::outlook::{certified_count_forecast, takes_all_money};
use goodarm_core::policy::{Parameters, by_name};
use goodarm_core::{Call, Design, Guarantee, Options, Problem, ProblemSpec, Session};
use goodarm_files::toml_text;
use goodarm_lab::family::WorldSpec;
use goodarm_sim::episode::{Course, run_while};
use goodarm_sim::instance::Instance;
use goodarm_sim::world::SimulatedReply;

const REPETITIONS: u64 = 10;
const MOMENTS: [f64; 3] = [0.25, 0.5, 0.75];

/// Worlds, each with a budget that is scarce, about enough, and ample.
const WORLDS: [(&str, [f64; 3]); 6] = [
    (
        "name = 'coins'\nscores = 'binary'\nmeans = { random = { arms = 40, good = [0.3, 0.7], price_max = 20 } }",
        [3e3, 2e4, 1e6],
    ),
    (
        "name = 'bounded'\nscores = 'bounded'\nmeans = { random = { arms = 40, good = [0.3, 0.7], price_max = 20 } }",
        [3e3, 2e4, 1e6],
    ),
    (
        "name = 'bimodal'\nscores = 'binary'\nmeans = { bimodal = { arms = 60, good = 0.6, good_means = [9, 1], bad_means = [2, 4], price_max = 10 } }",
        [3e3, 1e4, 1e6],
    ),
    (
        "name = 'gsm8k-like'\nscores = 'binary'\nmeans = { gsm8k-like = { arms = 100, good = 0.7, prices = [1, 177, 884], seed = 1 } }",
        [1e5, 5e5, 1e8],
    ),
    (
        "name = 'decoys'\nscores = 'binary'\nmeans = { expensive-decoys = { prices = [1, 2, 4, 40], scale = 1 } }",
        [3e3, 1e4, 1e6],
    ),
    (
        "name = 'one failure'\nscores = 'binary'\nmeans = { one-failure = { prices = [1, 2, 4, 40], fails = 3, gap = 0.2 } }",
        [3e3, 1e4, 1e6],
    ),
];

fn session(instance: &Instance, budget: f64, seed: u64) -> Session {
    let spec = ProblemSpec {
        arms: instance.means.len(),
        attributes: instance.attributes.clone(),
        budget,
        delta: 0.05,
        guarantee: Guarantee::Lent,
    };
    let design = Design { scored_by: instance.scored_by.clone(), questions: None };
    let problem = Problem::designed(spec, design).expect("a problem");
    let parameters = Parameters { seed, ..Parameters::default() };
    let policy = by_name("rcb", &parameters).expect("a policy");
    Session::with_options(problem, policy, Options::of_run(true)).expect("options")
}

fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("few"))
}

fn spent(session: &Session) -> f64 {
    session.books().ledger().settled().units()
}

/// What was forecast at a moment of a session.
struct Forecast {
    certified_count: f64,
    /// The money that is left, if the answers that look good will take all of it.
    left: Option<f64>,
    spent: f64,
}

/// One session: the final count and spend, and what was forecast at each moment.
fn forecasts(instance: &Instance, budget: f64, seed: u64) -> (f64, f64, Vec<Forecast>) {
    let course = Course { seed, concurrency: 4, raised: None };
    let mut first = session(instance, budget, seed);
    run_while(&mut first, &*instance.verifiers, course, |_, _, _| true);
    let count = real(first.certified().len());
    let all = spent(&first);
    let mut found = Vec::new();
    let mut again = session(instance, budget, seed);
    let watch = |session: &Session, _: &Call, _: &SimulatedReply| {
        if found.len() < MOMENTS.len() && spent(session) >= MOMENTS[found.len()] * all {
            let books = session.books();
            let left = budget - spent(session);
            found.push(Forecast {
                certified_count: certified_count_forecast(books),
                left: takes_all_money(books).then_some(left),
                spent: spent(session),
            });
        }
        true
    };
    run_while(&mut again, &*instance.verifiers, course, watch);
    (count, all, found)
}

/// The share of forecasts within a factor of 2.
#[derive(Clone, Copy, Default)]
struct Calibration {
    close: u32,
    all: u32,
}

impl Calibration {
    fn take(&mut self, forecast: f64, real: f64) {
        self.close += u32::from((0.5..=2.0).contains(&(forecast / real)));
        self.all += 1;
    }

    fn holds(self) -> bool {
        10 * self.close >= 8 * self.all
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the measured calibration")]
fn forecasts_during_a_run_are_within_a_factor_of_two_in_eight_of_ten() {
    for (text, budgets) in WORLDS {
        let spec: WorldSpec = toml_text::parse(text).expect("a world");
        let [mut counts, mut times] = [[Calibration::default(); MOMENTS.len()]; 2];
        for budget in budgets {
            for seed in 0..REPETITIONS {
                let instance = spec.instance(seed, None).expect("an instance");
                let (count, all, found) = forecasts(&instance, budget, seed);
                for (place, forecast) in found.iter().enumerate() {
                    counts[place].take(forecast.certified_count.max(1.0), count.max(1.0));
                    if let Some(left) = forecast.left {
                        times[place].take(left, all - forecast.spent);
                    }
                }
            }
        }
        let shown = |of: [Calibration; 3]| of.map(|it| format!("{} of {}", it.close, it.all));
        eprintln!("{}: certificates {:?}, money {:?}", spec.name, shown(counts), shown(times));
        assert!(counts.iter().chain(&times).all(|it| it.holds()), "{}", spec.name);
        assert!(times[1].all >= REPETITIONS.try_into().expect("few"), "scarce money is noticed");
    }
}
