//! A human verifier or generator: calls wait in the run's folder until a person answers.

use std::collections::BTreeSet;

use goodarm_data::candidates::Candidates;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_data::template::Template;
use goodarm_record::card_queue::ReplyForm;
use goodarm_record::job_file::{Scores, Unit};
use goodarm_record::people::wanted_of;
use goodarm_record::terms::PeopleTerms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KindKeys, ServiceContext};
use crate::service::{Deferred, Manifest, Service};

/// A person, who is asked by `goodarm label`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanKeys {
    /// What the person is asked: a template with the candidate's fields. If not given, whether the answer
    /// is right, which score it deserves, or what the answer is.
    pub ask: Option<String>,
    /// The fields that the person sees, in this order; all if not given.
    pub show: Option<Vec<String>>,
    /// Fields that the person does not see, such as a known solution.
    pub hide: Option<Vec<String>>,
    /// Cards that may wait at once; 20 if not given.
    pub cards_max: Option<u32>,
    /// true: the same person may be asked about the same answer several times.
    pub same_person: Option<bool>,
}

impl KindKeys for HumanKeys {
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        if context.makes_answers {
            let questions = context.questions.unwrap_or(context.candidates);
            return self.human(ReplyForm::Answer, context, questions, Vec::new());
        }
        let scores = context.keys.scores.unwrap_or(Scores::Binary);
        let mut problems = Vec::new();
        if matches!(scores, Scores::SubGaussian { .. }) {
            let message = "a person says right or wrong (\"binary\", or \"exact\"), or gives a number in a range (\"bounded\")";
            problems.push(KeyProblem::new("scores", message));
        }
        self.human(wanted_of(scores), context, context.candidates, problems)
    }
}

impl HumanKeys {
    fn human(
        &self,
        wanted: ReplyForm,
        context: &ServiceContext<'_>,
        subjects: &Candidates,
        mut problems: Vec<KeyProblem>,
    ) -> Result<Service, Vec<KeyProblem>> {
        problems.extend(unsupported(context));
        // In seconds there is no default price either: a person's time is not measured.
        if context.unit != Unit::Calls && context.keys.price.is_none() {
            let message = format!("missing; give the price of a reply in {}", context.unit.name());
            problems.push(KeyProblem::missing("price", message));
        }
        if self.show.is_some() && self.hide.is_some() {
            problems.push(KeyProblem::new("hide", "either show or hide, not both"));
        }
        let hidden: BTreeSet<String> = self.hide.iter().flatten().cloned().collect();
        for (field, hint) in subjects.unknown_fields(&hidden) {
            let hint = goodarm_files::hint(hint.as_deref());
            problems.push(KeyProblem::new("hide", format!("there is no field {field:?}{hint}")));
        }
        let cards_max = self.cards_max.unwrap_or(CARDS_MAX);
        if !(1..=CARDS_LIMIT).contains(&cards_max) {
            let message = format!("{cards_max} is not between 1 and {CARDS_LIMIT}");
            problems.push(KeyProblem::new("cards_max", message));
        }
        let asks = self.ask.clone().unwrap_or_else(|| default_question(wanted).to_owned());
        let template = collect(Template::of_key("ask", &asks), &mut problems);
        let (Some(template), true) = (template, problems.is_empty()) else { return Err(problems) };
        let shown = self.show.iter().flatten().cloned();
        let terms = PeopleTerms {
            asks,
            show: self.show.clone(),
            hide: self.hide.clone().unwrap_or_default(),
            cards_max,
            same_person: self.same_person.unwrap_or(false),
            answer_bytes_max: None,
        };
        let is_exact = context.keys.scores == Some(Scores::Exact);
        let manifest = Manifest {
            fields: template.fields().into_iter().chain(shown).collect(),
            scores: Scores::Binary,
            // The middle between right and wrong.
            threshold: is_exact.then_some(0.5),
            answers_questions: wanted == ReplyForm::Answer,
            ..Manifest::default()
        };
        Ok(Service::deferred(manifest, Deferred::new(terms, wanted)))
    }
}

/// Common keys that do not apply to people.
fn unsupported(context: &ServiceContext<'_>) -> Vec<KeyProblem> {
    let keys = context.keys;
    let given = [
        ("timeout", keys.timeout.is_some(), "a person has all the time there is"),
        ("rate", keys.rate.is_some(), "nothing is sent to a person"),
        ("retries", keys.retries.is_some(), "a person is asked once"),
        ("patience", keys.patience.is_some(), "a run waits for people as long as it takes"),
        ("concurrency", keys.concurrency.is_some(), "cards_max says how many cards may wait"),
        ("metered", keys.metered.is_some(), "what a person says has a fixed price: price"),
        ("criteria", keys.criteria.is_some(), "a person gives one score: a verifier for each"),
    ];
    let unsupported = given.into_iter().filter(|(_, is_given, _)| *is_given);
    unsupported
        .map(|(key, _, why)| KeyProblem::new(key, format!("not for a person: {why}")))
        .collect()
}

const fn default_question(wanted: ReplyForm) -> &'static str {
    match wanted {
        ReplyForm::Verdict => "Is this answer right?",
        ReplyForm::Score { .. } => "How good is this answer?",
        ReplyForm::Answer => "What is the answer?",
    }
}

/// The default of `cards_max`: about the cards that one person replies to in a session. More cards would reserve
/// money for answers that may no longer be worth asking about after the first replies.
const CARDS_MAX: u32 = 20;
const CARDS_LIMIT: u32 = 10_000;
