//! A person who answers cards now and then while a process runs.

use std::sync::Arc;
use std::time::Duration;

use goodarm_core::Cost;
use goodarm_data::candidates::Candidate;
use goodarm_record::card_queue::{Card, CardQueue as _, CardReply};
use goodarm_record::folder::Folder;
use goodarm_record::job_file::FailedCalls;
use goodarm_record::people::PeopleQueue;
use goodarm_record::terms::PeopleTerms;
use tokio::time::sleep;

use super::chance::Chance;
use super::plan::{Faults, Nature, Plan};
use super::world::{World, arm_of};

impl Plan {
    /// The same plan with a person as the last verifier.
    pub(super) fn with_person(mut self) -> Self {
        let mut chance = Chance::at(&[self.seed, 9]);
        self.verifiers.push(Nature {
            is_ours: false,
            is_person: true,
            is_coin: true,
            threshold: chance.between(0.4, 0.6),
            ceiling: Cost::from_units(1 + chance.below(5)),
            is_metered: false,
            failed: FailedCalls::Ceiling,
            concurrency: None,
            rate: None,
            latency_seconds: [0.0, 0.0],
            faults: Faults::default(),
        });
        self
    }
}

pub(super) fn terms(seed: u64) -> PeopleTerms {
    PeopleTerms {
        asks: "Is it right?".into(),
        show: Some(vec!["answer".into()]),
        hide: Vec::new(),
        cards_max: 1 + u32::try_from(seed % 7).expect("few"),
        same_person: true,
        answer_bytes_max: None,
    }
}

/// Answers cards now and then. Never returns.
pub(super) async fn label(world: Arc<World>, folder: Folder) {
    if !world.plan.verifiers.iter().any(|nature| nature.is_person) {
        return std::future::pending().await;
    }
    loop {
        let mut chance = Chance::at(&[world.plan.seed, 10, world.truth().next_visit()]);
        sleep(Duration::from_secs_f64(chance.magnitude(0.01, 30.0))).await;
        visit(&world, &folder, &mut chance);
    }
}

/// Answers some of the cards that wait, as a person of the plan would.
fn visit(world: &World, folder: &Folder, chance: &mut Chance) {
    // There may be no run yet, or nothing but the beginning of its journal.
    let Ok(mut queue) = PeopleQueue::open(folder) else { return };
    for _ in 0..=chance.below(4) {
        let Some(card) = queue.next("somebody").expect("a run has its candidates") else { return };
        let said = said(world, &card, chance);
        queue.submit("somebody", &card.key, said.clone()).expect("the only person");
        let index = world.plan.verifiers.len() - 1;
        let mut truth = world.truth();
        truth.count("cards answered");
        let score = match said {
            CardReply::Right => 1.0,
            CardReply::Wrong => 0.0,
            _ => continue,
        };
        truth.pairs.entry((arm(&card), index)).or_default().scores.push(score);
    }
}

fn said(world: &World, card: &Card, chance: &mut Chance) -> CardReply {
    let index = world.plan.verifiers.len() - 1;
    match chance.is(world.plan.mean(arm(card), index)) {
        _ if chance.is(0.05) => CardReply::Skip,
        true => CardReply::Right,
        false => CardReply::Wrong,
    }
}

/// The number of the answer that a card is about.
fn arm(card: &Card) -> usize {
    let question = card.id.trim_start_matches("given ").split_once('/').map(|(it, _)| it);
    let question = question.or_else(|| card.id.strip_prefix("given "));
    let mut fields = serde_json::json!({"answer": card.fields[0].text});
    if let Some(question) = question {
        fields["question_id"] = question.into();
    }
    arm_of(&Candidate::new(card.id.clone(), fields.to_string()))
}
