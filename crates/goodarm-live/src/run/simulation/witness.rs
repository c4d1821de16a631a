//! Keeps what people were shown, over all processes, and compares it with journal and books.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{ArmId, Cost, Event, Outcome, Source, Target, Ticket};
use goodarm_record::folder::Folder;
use goodarm_record::history::History;
use goodarm_record::notice::{Condition, Notice, Observer, Progress};
use goodarm_record::subjects::Subjects;
use tokio::time::Instant;

use super::world::{QUESTIONS_FROM, World, arm_of};
use crate::run::Run;

pub(super) struct Witness {
    world: Arc<World>,
    certified: Vec<ArmId>,
    told: BTreeMap<Ticket, Outcome>,
    /// When the run last said what it waits for.
    explained_at: Option<Instant>,
    /// The rule that was broken, if any.
    pub(super) complaint: Option<String>,
}

impl Observer for Witness {
    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            // A call that this process evaluates gives the same score again, so it need not be durable.
            Notice::Called { call, .. } => {
                let plan = &self.world.plan;
                if !plan.nature(place_of(call.target, plan.verifiers.len())).is_ours {
                    self.told.insert(call.ticket, call.outcome.clone());
                }
            }
            Notice::Certified { answer, .. } => self.certified.push(answer.arm),
            Notice::Progress(progress) => self.look_for_life(progress),
            Notice::Verifier { .. } | Notice::Warning(_) => {}
        }
    }

    fn wants_calls(&self) -> bool {
        true
    }
}

impl Witness {
    pub(super) fn new(world: &Arc<World>) -> Self {
        let world = Arc::clone(world);
        let (certified, told) = (Vec::new(), BTreeMap::new());
        Self { world, certified, told, explained_at: None, complaint: None }
    }

    /// A run that does nothing must say what it waits for.
    fn look_for_life(&mut self, progress: &Progress) {
        let truth = self.world.truth();
        let now = Instant::now();
        let is_explained = progress.is_paused
            || truth.out_count > 0
            || progress.overview.for_people > 0
            || progress.conditions.iter().any(|condition| *condition != Condition::Open);
        if is_explained {
            self.explained_at = Some(now);
        }
        let last = truth.moved_at.max(self.explained_at);
        let still = last.map_or(Duration::ZERO, |last| now.duration_since(last));
        if still > STILL_MAX {
            let text = format!("nothing for {still:?}, and no word why: {progress:?}");
            self.complaint.get_or_insert(text);
            self.world.stuck.notify_one();
        }
    }

    /// Checks what a process that resumes the run must find in the journal. Called when a process has ended.
    pub(super) fn compare_journal(&self, folder: &Folder) -> Result<(), String> {
        let mut history = History::open(&folder.journal()).map_err(|error| error.to_string())?;
        // A process may die before it has written candidates and questions to the folder, but then it has made
        // no call.
        let Ok(subjects) = Subjects::read(folder, &history.terms) else {
            let first = history.next_entry().map_err(|error| error.to_string())?;
            return first.map_or(Ok(()), |_| Err("the subjects of the calls are unknown".into()));
        };
        let verifier_count = self.world.plan.verifiers.len();
        let pair_of = |target: Target| {
            let subject = match target {
                Target::Arm(arm, _) => arm_of(&subjects.candidates.get(arm)),
                Target::Question(question, _) => QUESTIONS_FROM + question.index(),
            };
            (subject, place_of(target, verifier_count))
        };
        let mut asked: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let mut scores: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
        let mut told = BTreeMap::new();
        while let Some(entry) = history.next_entry().map_err(|error| error.to_string())? {
            if let Event::Asked { target, .. } = entry.event {
                *asked.entry(pair_of(target)).or_default() += 1;
            }
            if let Some(call) = entry.call {
                told.insert(call.ticket, call.outcome.clone());
                let number = match call.outcome {
                    Outcome::Score(score) => Some(score),
                    Outcome::Answer(_) => call.note.answer.parse().ok(),
                    Outcome::Scores(_) | Outcome::Failed(_) => None,
                };
                if let Some(number) = number {
                    scores.entry(pair_of(call.target)).or_default().push(number);
                }
            }
        }
        if let Some((ticket, outcome)) =
            self.told.iter().find(|(ticket, outcome)| told.get(ticket) != Some(outcome))
        {
            return Err(format!(
                "{ticket:?} was shown as {outcome:?}, and is {:?} in the journal",
                told.get(ticket)
            ));
        }
        let truth = self.world.truth();
        for (pair, real) in &truth.pairs {
            let asked_count = asked.get(pair).copied().unwrap_or(0);
            if real.call_count > asked_count {
                return Err(format!(
                    "{pair:?} was called {} times, and the journal knows of {asked_count}",
                    real.call_count
                ));
            }
        }
        for (pair, mut written) in scores {
            if self.world.plan.nature(pair.1).is_ours {
                continue;
            }
            let mut given = truth.pairs.get(&pair).map(|pair| pair.scores.clone());
            let given = given.get_or_insert_default();
            written.sort_by(f64::total_cmp);
            given.sort_by(f64::total_cmp);
            if !is_part_of(&written, given) {
                return Err(format!("{pair:?} was told scores that were never given"));
            }
        }
        Ok(())
    }

    /// Checks what must hold whenever no call to a machine is in flight.
    pub(super) fn compare_books(&self, run: &Run) -> Result<(), String> {
        let books = run.session().books();
        if let Some(arm) = self.certified.iter().find(|arm| !books.certified().contains(arm)) {
            return Err(format!("{arm:?} was shown as certified, and is not"));
        }
        let ledger = books.ledger();
        let (possible, billed) = (ledger.possible(), self.world.truth().billed);
        let most = ledger.budget().saturating_add(ledger.overrun());
        if possible > most {
            return Err(format!("{possible} is possible, of {most}"));
        }
        // With `failed = "mean"`, the job accepts that bills may be higher.
        if possible < billed && !self.world.plan.has_means() {
            return Err(format!("the verifiers have billed {billed}, and {possible} is possible"));
        }
        let is_known = ledger.uncertain() == Cost::ZERO;
        if is_known && ledger.settled().saturating_add(ledger.reserved()) != possible {
            return Err(format!("all bills are known, and {possible} is not what is settled"));
        }
        Ok(())
    }
}

/// Whether every number of `some` is in `all`, at least as often. Both are sorted.
fn is_part_of(some: &[f64], all: &[f64]) -> bool {
    let mut all = all.iter();
    some.iter().all(|score| all.any(|other| other.to_bits() == score.to_bits()))
}

/// The longest time that a run may do nothing without a reason: longer than a verifier may take.
const STILL_MAX: Duration = Duration::from_secs(40);

/// The index of a service in the plan: verifiers, then generators.
const fn place_of(target: Target, verifier_count: usize) -> usize {
    match target {
        Target::Arm(_, attribute) | Target::Question(_, Source::Votes(attribute)) => {
            attribute.index()
        }
        Target::Question(_, Source::Generator(generator)) => verifier_count + generator.index(),
    }
}
