//! The run terms: everything that a certificate depends on. They are in the first record of the journal. Only the
//! budget can change later, upwards.

use std::collections::BTreeMap;

use goodarm_core::{
    AttributeSpec, Cost, Design, GeneratorSpec, Label, Problem, ProblemSpec, QuestionId,
    QuestionsSpec, ScoredBy, ServiceId, Source, Target,
};
use goodarm_files::toml_text;
use serde::{Deserialize, Serialize};

use crate::job_file::{self, FailedCalls, GuaranteeName, Scores, Unit};
use crate::reply::MeanOver;

/// The terms of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RunTerms {
    /// The unit of the budget and of prices.
    pub unit: Unit,
    /// The budget at the start.
    #[serde(with = "goodarm_files::money::budget")]
    pub budget: Cost,
    /// The error probability.
    pub delta: f64,
    /// What `delta` bounds.
    pub guarantee: GuaranteeName,
    /// The policy that chooses the calls.
    pub policy: String,
    /// The number of calls of each pair, with the policy `fixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_pair: Option<u64>,
    /// Stop when there is no realistic chance left.
    pub stop_when_hopeless: bool,
    /// How many candidates there are.
    pub candidate_count: usize,
    /// The verifiers in order, with an entry for each criterion.
    pub verifiers: Vec<VerifierTerms>,
    /// The text of the job file, or of the job if it is not a file.
    pub job: String,
    /// The field that names a candidate.
    #[serde(default = "job_file::id_field")]
    pub id_field: String,
    /// The files that verifiers are made of, with the BLAKE3 hashes of their contents.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The folder that the paths of `files` start from, relative to the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// How many runs came before this one in its folder, were moved aside, and had made calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub earlier_runs: u32,
    /// Set if candidates are answers to questions: at most one answer to each is certified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionTerms>,
}

/// The questions of a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct QuestionTerms {
    /// How many there are.
    pub count: usize,
    /// The fingerprint of all of them, in hexadecimal.
    pub blake3: String,
    /// The field of an answer that names its question.
    pub question_field: String,
    /// The field of an answer that holds its text.
    pub answer_field: String,
    /// For each candidate at the start: the index of its question, and the number of its final answer among those
    /// of that question; equal numbers are equal final answers.
    pub answers: Vec<(u32, u32)>,
    /// The generators.
    pub generators: Vec<GeneratorTerms>,
    /// How many fresh answers may be made for a question.
    pub candidates_max: usize,
}

/// The terms of a generator.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct GeneratorTerms {
    /// What reports call it.
    pub name: String,
    /// Which kind of generator it is.
    pub kind: String,
    /// The most that an answer may cost.
    #[serde(with = "goodarm_files::money::price")]
    pub ceiling: Cost,
    /// The bill to expect before any is known; `None` for `ceiling`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "goodarm_files::money::optional"
    )]
    pub expected: Option<Cost>,
    /// Whether an answer may cost less than `ceiling`.
    pub metered: bool,
    /// What is declared about its calls.
    #[serde(flatten)]
    pub calls: CallTerms,
    /// How people are asked, if its calls go to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<PeopleTerms>,
}

/// The terms of a verifier, or of one of its criteria.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct VerifierTerms {
    /// What reports call it.
    pub name: String,
    /// Which kind of verifier it is.
    pub kind: String,
    /// The mean score to be reached.
    pub threshold: f64,
    /// What is known of its scores.
    pub scores: Scores,
    /// The most that a call may cost.
    #[serde(with = "goodarm_files::money::price")]
    pub ceiling: Cost,
    /// The bill to expect before any is known; `None` for `ceiling`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "goodarm_files::money::optional"
    )]
    pub expected: Option<Cost>,
    /// Whether a call may cost less than `ceiling`.
    pub metered: bool,
    /// What is declared about its calls.
    #[serde(flatten)]
    pub calls: CallTerms,
    /// What its mean score is the mean of.
    #[serde(default)]
    pub mean_over: MeanOver,
    /// Its criterion, if a reply has several scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<CriterionTerms>,
    /// Set for a solver: it is asked the question, and its reply scores every answer by equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solves: Option<SolverTerms>,
    /// How people are asked, if its calls go to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<PeopleTerms>,
}

/// What is declared about the calls of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct CallTerms {
    /// What a failed call costs if its reply does not say.
    #[serde(default)]
    pub failed: FailedCalls,
    /// HTTP statuses that do not depend on the answer, by the word of the job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void_status: Vec<u16>,
    /// Its addresses, without secrets, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// How people are asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct PeopleTerms {
    /// What they are asked: a template.
    pub asks: String,
    /// The fields that they see, in order; by default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<Vec<String>>,
    /// Fields that they do not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// How many cards may wait at once; the choice of calls depends on it.
    pub cards_max: u32,
    /// Whether one person may be asked about the same answer several times.
    #[serde(default)]
    pub same_person: bool,
    /// The most bytes of an answer, where one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_bytes_max: Option<usize>,
}

/// The terms of a solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct SolverTerms {
    /// Whether a reply that differs from all answers becomes an answer.
    pub proposes: bool,
}

/// One of several scores in a reply. Each has its own entry among the terms of the verifiers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CriterionTerms {
    /// The verifier that gives the reply.
    pub verifier: String,
    /// What the verifier calls the criterion.
    pub name: String,
    /// The index of the verifier's first criterion among all terms: calls are counted and paid there.
    pub first: usize,
}

/// What a verifier's and a generator's terms have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTerms<'a> {
    /// What reports call it.
    pub name: &'a str,
    /// Which kind it is.
    pub kind: &'a str,
    /// The most that a call may cost.
    pub ceiling: Cost,
    /// Whether a call may cost less than `ceiling`.
    pub metered: bool,
    /// What is declared about its calls.
    pub calls: &'a CallTerms,
    /// Whether it makes answers.
    pub is_generator: bool,
    /// Whether its calls are about questions.
    pub answers_questions: bool,
    /// What is known of its scores.
    pub scores: Scores,
    /// How people are asked, if its calls go to them.
    pub people: Option<&'a PeopleTerms>,
}

/// Why the recorded terms of a run cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the terms of the run {0}")]
pub struct TermsError(String);

impl RunTerms {
    /// Reads the terms from the text in a journal.
    pub fn read(text: &str) -> Result<Self, TermsError> {
        serde_json::from_str(text).map_err(|error| TermsError(format!("cannot be read: {error}")))
    }

    /// The text for a journal.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("the terms are plain data with text keys")
    }

    /// The seed of all random draws.
    pub fn seed(&self) -> u64 {
        toml_text::parse::<JobKeys>(&self.job).unwrap_or_default().seed
    }

    /// The problem that the run solves.
    pub fn problem(&self) -> Result<Problem, TermsError> {
        let spec = ProblemSpec {
            arms: self.candidate_count,
            attributes: self.verifiers.iter().map(VerifierTerms::spec).collect(),
            budget: self.budget,
            delta: self.delta,
            guarantee: self.guarantee.into(),
        };
        let place = |(index, terms): (usize, &VerifierTerms)| match &terms.criterion {
            Some(criterion) if criterion.first != index => ScoredBy::CallsOf(criterion.first),
            _ => match terms.solves {
                Some(SolverTerms { proposes }) => ScoredBy::Votes { proposes },
                None => ScoredBy::OwnCalls,
            },
        };
        let scored_by = self.verifiers.iter().enumerate().map(place).collect();
        let questions = self.questions.as_ref().map(QuestionTerms::spec);
        Problem::designed(spec, Design { scored_by, questions })
            .map_err(|error| TermsError(format!("are not valid: {error}")))
    }

    /// The same terms without expected bills.
    #[must_use]
    pub fn without_expectations(&self) -> Self {
        let mut terms = self.clone();
        terms.verifiers.iter_mut().for_each(|verifier| verifier.expected = None);
        let generators = terms.questions.iter_mut().flat_map(|it| &mut it.generators);
        generators.for_each(|generator| generator.expected = None);
        terms
    }

    /// Whether this verifier is a solver: it is asked the question, not about an answer.
    pub fn are_votes(&self, place: usize) -> bool {
        self.verifiers.get(place).is_some_and(|terms| terms.solves.is_some())
    }

    /// The terms of the service of calls to `target`.
    pub fn service(&self, target: Target) -> ServiceTerms<'_> {
        self.rows().nth(self.row(target)).expect("the terms have all services")
    }

    /// The address with this index of the service of calls to `target`.
    pub fn address(&self, target: Target, index: u16) -> &str {
        self.service(target).calls.addresses.get(usize::from(index)).map_or("?", String::as_str)
    }

    /// The row of [`Self::rows`] in which calls to `target` are counted.
    pub const fn row(&self, target: Target) -> usize {
        row_of(target, self.verifiers.len())
    }

    /// All services, in the order of the problem.
    pub fn services(&self) -> impl Iterator<Item = (ServiceId, ServiceTerms<'_>)> {
        let verifier_count = self.verifiers.len();
        let is_service = move |row: usize| row >= verifier_count || self.is_called(row);
        let rows = self.rows().enumerate().filter(move |(row, _)| is_service(*row));
        rows.enumerate().map(|(place, (_, terms))| (ServiceId::at(place), terms))
    }

    /// The generators.
    pub fn generators(&self) -> &[GeneratorTerms] {
        self.questions.as_ref().map_or(&[], |questions| &questions.generators)
    }

    /// All terms in the order of report rows: each criterion of each verifier, then the generators.
    pub fn rows(&self) -> impl Iterator<Item = ServiceTerms<'_>> {
        let verifiers = self.verifiers.iter().map(|terms| ServiceTerms {
            name: &terms.name,
            kind: &terms.kind,
            ceiling: terms.ceiling,
            metered: terms.metered,
            calls: &terms.calls,
            is_generator: false,
            answers_questions: terms.solves.is_some(),
            scores: terms.scores,
            people: terms.people.as_ref(),
        });
        let generators = self.generators().iter().map(|terms| ServiceTerms {
            name: &terms.name,
            kind: &terms.kind,
            ceiling: terms.ceiling,
            metered: terms.metered,
            calls: &terms.calls,
            is_generator: true,
            answers_questions: true,
            // A generator gives no scores; what counts is only that this is not `Exact`.
            scores: Scores::Binary,
            people: terms.people.as_ref(),
        });
        verifiers.chain(generators)
    }

    /// The name of the service of calls to `target`.
    pub fn service_name(&self, target: Target) -> &str {
        let row = self.row(target);
        let Some(terms) = self.verifiers.get(row) else {
            return &self.generators()[row - self.verifiers.len()].name;
        };
        terms.criterion.as_ref().map_or(&terms.name, |criterion| &criterion.verifier)
    }

    /// The names of the criteria that calls to `target` score; empty if a reply has one score.
    pub fn criteria(&self, target: Target) -> Vec<&str> {
        let row = self.row(target);
        let criteria = self.verifiers.iter().filter_map(|terms| terms.criterion.as_ref());
        criteria.filter(|it| it.first == row).map(|it| it.name.as_str()).collect()
    }

    /// Whether the entry of `verifiers` at `place` has its own calls: of a verifier's criteria, only the first has.
    pub fn is_called(&self, place: usize) -> bool {
        let criterion = self.verifiers[place].criterion.as_ref();
        criterion.is_none_or(|criterion| criterion.first == place)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The row of a report in which calls to `target` are counted. Each criterion of each verifier has a row, then each
/// generator.
pub const fn row_of(target: Target, criterion_count: usize) -> usize {
    match target {
        Target::Arm(_, attribute) | Target::Question(_, Source::Votes(attribute)) => {
            attribute.index()
        }
        Target::Question(_, Source::Generator(generator)) => criterion_count + generator.index(),
    }
}

/// The keys of a job file that are read here.
#[derive(Default, Deserialize)]
struct JobKeys {
    #[serde(default)]
    seed: u64,
}

impl QuestionTerms {
    fn spec(&self) -> QuestionsSpec<Cost> {
        let answer = |&(question, label): &(u32, u32)| (QuestionId(question), Label(label));
        let generator = |terms: &GeneratorTerms| GeneratorSpec {
            name: terms.name.clone(),
            price: terms.ceiling,
            expected: terms.expected,
        };
        QuestionsSpec {
            count: self.count,
            answers: self.answers.iter().map(answer).collect(),
            generators: self.generators.iter().map(generator).collect(),
            candidates_max: self.candidates_max,
        }
    }
}

impl VerifierTerms {
    fn spec(&self) -> AttributeSpec<Cost> {
        AttributeSpec {
            name: self.name.clone(),
            price: self.ceiling,
            expected: self.expected,
            threshold: self.threshold,
            scores: self.scores.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms of an old journal: amounts are numbers.
    const OLD: &str = r#"{"unit":"dollars","budget":2.5,"delta":0.05,"guarantee":"holm",
        "policy":"rcb","stop_when_hopeless":true,"candidate_count":3,"verifiers":[
        {"name":"a","kind":"check","threshold":0.5,"scores":"exact","ceiling":1e-9,"metered":false},
        {"name":"b","kind":"llm","threshold":0.7,"scores":{"sub-gaussian":{"sigma":0.5,"lowest":null}},
         "ceiling":0.000061,"metered":true}],"job":"budget = 2.5"}"#;

    #[test]
    fn terms_with_numbers_are_read_and_written_with_exact_decimals() {
        let terms = RunTerms::read(OLD).unwrap();
        assert_eq!(terms.budget.to_string(), "2.5");
        let ceilings: Vec<String> =
            terms.verifiers.iter().map(|it| it.ceiling.to_string()).collect();
        assert_eq!(ceilings, ["0.000000001", "0.000061"]);
        assert_eq!(terms.verifiers[1].kind, "llm");
        let text = terms.text();
        assert!(text.contains(r#""budget":"2.5""#), "{text}");
        assert!(text.contains(r#""ceiling":"0.000061""#), "{text}");
        assert_eq!(RunTerms::read(&text), Ok(terms));
    }

    #[test]
    fn amounts_stay_exact_from_the_journal_to_the_problem() {
        let mut terms = RunTerms::read(OLD).unwrap();
        terms.budget = Cost::from_picos(123_456_789_012_345_678_901);
        terms.verifiers[1].ceiling = Cost::from_picos(12_345_678_901_234_567_891);
        terms.verifiers[1].expected = Some(Cost::from_picos(1_234_567_890_123_456_789));
        assert!(terms.text().contains(r#""expected":"1234567.890123456789""#), "{}", terms.text());
        let terms = RunTerms::read(&terms.text()).unwrap();
        let problem = terms.problem().unwrap();
        assert_eq!(problem.budget(), terms.budget);
        let price = problem.attribute(goodarm_core::AttributeId(1)).price;
        assert_eq!(price, terms.verifiers[1].ceiling);
        let expected = |service| problem.expected_bill(ServiceId(service));
        assert_eq!(Some(expected(1)), terms.verifiers[1].expected);
        assert_eq!(expected(0), terms.verifiers[0].ceiling, "the ceiling, if nothing else is said");
    }

    #[test]
    fn an_invalid_budget_is_refused() {
        for budget in ["-1", "\"-1\"", "\"1e3\"", "true"] {
            let text = OLD.replace("\"budget\":2.5", &format!("\"budget\":{budget}"));
            assert!(RunTerms::read(&text).is_err(), "{budget}");
        }
    }
}
