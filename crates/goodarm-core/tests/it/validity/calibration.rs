//! Thresholds that labels choose: how often fewer of the passing arms are right than was claimed. Wrong twins
//! look at the labels before they lay out the path, or at every vector and not at a path.

use goodarm_core::calibration::{Goal, PilotScores, Threshold, ThresholdPath};
use goodarm_sim::random::Random;

use super::limit::{check_broken, check_valid};

const TRIALS: u32 = 400;
const DELTA: f64 = 0.1;
const WANTED: f64 = 0.8;

/// A pilot whose arms are right with a probability that its means tell something about, or nothing.
#[derive(Clone, Copy)]
struct World {
    arms: usize,
    verifiers: usize,
    labels: usize,
    /// The probability that an arm is right whose least mean has this rank from 0 (strictest) to 1.
    right: fn(f64) -> f64,
}

struct Draw {
    columns: Vec<PilotScores>,
    is_right: Vec<bool>,
    /// In random order.
    labels: Vec<(usize, bool)>,
}

impl World {
    fn draw(self, trial: u32) -> Draw {
        let mut random = Random::at(15, &[u64::from(trial)]);
        let mut column = || PilotScores {
            means: (0..self.arms).map(|_| Some(random.uniform())).collect(),
            threshold: Threshold::Free { lowest: 0.0 },
        };
        let columns: Vec<PilotScores> = (0..self.verifiers).map(|_| column()).collect();
        let least =
            |arm: usize| columns.iter().filter_map(|column| column.means[arm]).fold(1.0, f64::min);
        // The least of m uniform means is above x with probability (1 - x)^m.
        let rank = |arm| {
            (1.0 - least(arm))
                .powf(f64::from(u32::try_from(self.verifiers).expect("few verifiers")))
        };
        let is_right: Vec<bool> =
            (0..self.arms).map(|arm| random.uniform() < (self.right)(1.0 - rank(arm))).collect();
        let mut order: Vec<usize> = (0..self.arms).collect();
        for place in (1..self.arms).rev() {
            let other = random.below(place as u64 + 1);
            order.swap(place, usize::try_from(other).expect("a place"));
        }
        order.truncate(self.labels);
        let labels = order.into_iter().map(|arm| (arm, is_right[arm])).collect();
        Draw { columns, is_right, labels }
    }

    /// In how many trials a choice of arms was one of which too few are right.
    fn errors(self, choose: impl Fn(&Draw) -> Vec<Vec<usize>>) -> u32 {
        let is_wrong = |draw: &Draw, kept: &Vec<usize>| {
            let right = kept.iter().filter(|arm| draw.is_right[**arm]).count();
            real(right) <= WANTED * real(kept.len())
        };
        count(|trial| {
            let draw = self.draw(trial);
            choose(&draw).iter().any(|kept| is_wrong(&draw, kept))
        })
    }

    /// In how many trials anything was chosen.
    fn choices(self, choose: impl Fn(&Draw) -> Vec<Vec<usize>>) -> u32 {
        count(|trial| !choose(&self.draw(trial)).is_empty())
    }
}

fn count(holds: impl Fn(u32) -> bool) -> u32 {
    u32::try_from((0..TRIALS).filter(|trial| holds(*trial)).count()).expect("few trials")
}

fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("a small count"))
}

fn goal() -> Goal {
    Goal::new(WANTED, DELTA).expect("both are between 0 and 1")
}

/// The means tell nothing. In the population each vector of thresholds keeps just as many right ones as are
/// wanted and none more: about the population every choice is an error.
const ALL_ALIKE: World = World { arms: 300, verifiers: 3, labels: 150, right: |_| WANTED };
/// Right at the strict end, too few at the lax one.
const GETTING_WORSE: World = World { right: |rank| 1.0 - 0.6 * (1.0 - rank), ..ALL_ALIKE };
/// The strictest are the worst.
const UPSIDE_DOWN: World = World { right: |rank| 0.9 - 0.3 * rank, ..ALL_ALIKE };
const ONE_VERIFIER: World = World { verifiers: 1, ..GETTING_WORSE };

fn path(draw: &Draw, planned: usize) -> ThresholdPath {
    ThresholdPath::new(&draw.columns, goal(), planned as u64)
}

fn chosen(path: &ThresholdPath, labels: &[(usize, bool)]) -> Option<Vec<usize>> {
    path.walk(labels).chosen.map(|step| path.steps()[step].passers.clone())
}

/// What is chosen as labels come in.
fn walks(draw: &Draw, path: &ThresholdPath) -> Vec<Vec<usize>> {
    let counts = (20..=draw.labels.len()).step_by(10);
    counts.filter_map(|count| chosen(path, &draw.labels[..count])).collect()
}

#[test]
fn chosen_thresholds_keep_too_few_right_arms_with_probability_delta_at_most() {
    for (what, world) in [
        ("all alike", ALL_ALIKE),
        ("getting worse", GETTING_WORSE),
        ("upside down", UPSIDE_DOWN),
        ("one verifier", ONE_VERIFIER),
        ("few labels", World { labels: 80, ..GETTING_WORSE }),
        ("all labelled", World { labels: 300, ..GETTING_WORSE }),
    ] {
        let once =
            |draw: &Draw| chosen(&path(draw, world.labels), &draw.labels).into_iter().collect();
        check_valid(what, world.errors(once), TRIALS, DELTA);
    }
}

/// The path that was laid out for 150 labels is walked after every tenth.
#[test]
fn a_path_may_be_walked_again_with_every_label() {
    for world in [ALL_ALIKE, GETTING_WORSE, ONE_VERIFIER] {
        let at_all_times = |draw: &Draw| walks(draw, &path(draw, world.labels));
        check_valid("peeking", world.errors(at_all_times), TRIALS, DELTA);
    }
    let at_all_times = |draw: &Draw| walks(draw, &path(draw, ALL_ALIKE.labels));
    check_valid("peeking at a population", ALL_ALIKE.choices(at_all_times), TRIALS, DELTA);
}

/// Without this, everything above would also hold for paths that are never walked.
#[test]
fn good_thresholds_are_found() {
    let once = |draw: &Draw| chosen(&path(draw, 150), &draw.labels).is_some();
    let world = World { right: |rank| if rank > 0.4 { 0.99 } else { 0.2 }, ..ONE_VERIFIER };
    let found = (0..200).filter(|trial| once(&world.draw(*trial))).count();
    assert!(found > 150, "{found} of 200");
}

/// Twin: any vector of thresholds may be chosen for which the same evidence speaks, not the next on a path.
#[test]
fn the_best_looking_vector_of_all_breaks_it() {
    let best = |draw: &Draw| {
        let mut best: Option<(f64, Vec<usize>)> = None;
        for vector in 0..GRID.pow(3) {
            let places = [vector % GRID, vector / GRID % GRID, vector / (GRID * GRID)];
            let kept = kept_by(draw, &places.map(|place| real(place) / real(GRID)));
            let (right, wrong) = counts(draw, &kept);
            let evidence = goal().log_evidence(right, wrong);
            if goal().is_shown(right, wrong) && best.as_ref().is_none_or(|best| evidence > best.0) {
                best = Some((evidence, kept));
            }
        }
        best.into_iter().map(|(_, kept)| kept).collect()
    };
    check_broken("any vector", ALL_ALIKE.choices(best), TRIALS, DELTA);
}

/// Twin: each path is walked as it should be, and then the one is taken that went well.
#[test]
fn a_path_that_is_chosen_after_the_labels_breaks_it() {
    let walk = |draw: &Draw, speeds: [f64; 3]| {
        let steps = (1..=20).map(|step| {
            let thresholds = speeds.map(|speed| 1.0 - (f64::from(step) / 20.0).powf(speed));
            kept_by(draw, &thresholds)
        });
        let tested = steps.filter(|kept| {
            let (right, wrong) = counts(draw, kept);
            right + wrong >= goal().labels_needed(0)
        });
        let shown = |kept: &Vec<usize>| {
            let (right, wrong) = counts(draw, kept);
            goal().is_shown(right, wrong)
        };
        tested.take_while(shown).last()
    };
    let paths = |draw: &Draw| {
        let speeds = [0.1, 0.3, 1.0, 3.0];
        let all = speeds.iter().flat_map(|&a| speeds.iter().map(move |&b| (a, b)));
        let all = all.flat_map(|(a, b)| speeds.iter().map(move |&c| [a, b, c]));
        all.filter_map(|speeds| walk(draw, speeds)).take(1).collect()
    };
    let one_path = |draw: &Draw| walk(draw, [1.0; 3]).into_iter().collect();
    check_valid("one path", ALL_ALIKE.choices(one_path), TRIALS, DELTA);
    check_broken("the best path", ALL_ALIKE.choices(paths), TRIALS, DELTA);
}

/// Twin: the labelled share of those that pass is taken for the truth.
#[test]
fn the_share_of_right_labels_itself_breaks_it() {
    let naive = |draw: &Draw| {
        let path = path(draw, draw.labels.len());
        let shown = |kept: &&Vec<usize>| {
            let (right, wrong) = counts(draw, kept);
            right * 10 > 8 * (right + wrong)
        };
        let last = path.steps().iter().map(|step| &step.passers).rfind(shown);
        last.cloned().into_iter().collect()
    };
    check_broken("share of labels", ALL_ALIKE.choices(naive), TRIALS, DELTA);
}

fn kept_by(draw: &Draw, thresholds: &[f64]) -> Vec<usize> {
    let passes = |arm: &usize| {
        let mut pairs = draw.columns.iter().zip(thresholds);
        pairs.all(|(column, threshold)| column.means[*arm].is_some_and(|mean| mean >= *threshold))
    };
    (0..draw.is_right.len()).filter(passes).collect()
}

fn counts(draw: &Draw, kept: &[usize]) -> (u64, u64) {
    let passing = draw.labels.iter().filter(|(arm, _)| kept.binary_search(arm).is_ok());
    let (right, wrong): (Vec<&(usize, bool)>, Vec<_>) = passing.partition(|label| label.1);
    (right.len() as u64, wrong.len() as u64)
}

/// As many thresholds are tried for each verifier.
const GRID: usize = 8;
