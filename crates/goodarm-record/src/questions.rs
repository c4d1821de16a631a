//! Questions with several answers: the question of each answer, equal final answers, and answers made during a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use goodarm_core::{ArmId, Label, Problem, QuestionId};
use goodarm_data::answer::{Extractor, same};
use goodarm_data::candidates::text_of;
use goodarm_data::candidates::{Candidates, CandidatesError, CandidatesErrorKind};
use goodarm_files::words::counted;
use serde_json::{Map, Value};

use crate::folder::Folder;
use crate::history::SettledCall;
use crate::terms::{QuestionTerms, RunTerms};

/// The questions of a job or a run.
#[derive(Clone, Debug)]
pub struct RunQuestions {
    /// Their ids and fields.
    pub list: Candidates,
    /// The field of an answer that names its question.
    pub question_field: String,
    /// The field of an answer that holds its text.
    pub answer_field: String,
    /// The field that names an answer.
    pub id_field: String,
}

/// An answer that was made for a question.
#[derive(Clone, Copy, Debug)]
pub struct MadeAnswer<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The final answer in the text.
    pub final_answer: &'a str,
}

impl RunQuestions {
    /// A question's id.
    pub fn id(&self, question: QuestionId) -> &str {
        self.list.id(ArmId(question.0))
    }

    /// A sample of the future candidates: those in `given`, and an answer with this text to each question.
    pub fn sample(&self, given: &Candidates, text: &str) -> Candidates {
        let mut sample = given.clone();
        for question in self.list.arms().map(|arm| QuestionId(arm.0)) {
            self.add(&mut sample, question, 1, MadeAnswer { text, final_answer: text });
        }
        sample
    }

    /// Adds an answer that was made for a question: the question's fields, the answer, its final answer and a new id.
    pub fn add(
        &self,
        candidates: &mut Candidates,
        question: QuestionId,
        place: usize,
        answer: MadeAnswer<'_>,
    ) {
        let MadeAnswer { text, final_answer } = answer;
        let own = self.id(question);
        let is_free = |id: &String| candidates.arm_of(id).is_none();
        let ids = (place..).map(|number| format!("{own}/{number}"));
        let id = ids.into_iter().find(is_free).expect("there is a free number");
        let mut fields: Map<String, Value> =
            serde_json::from_str(self.list.json(ArmId(question.0))).unwrap_or_default();
        fields.insert(self.id_field.clone(), id.as_str().into());
        fields.insert(self.question_field.clone(), own.into());
        fields.insert(self.answer_field.clone(), text.into());
        fields.entry(FINAL_ANSWER).or_insert_with(|| final_answer.into());
        let line = candidates.len() as u64 + 1;
        candidates.push(&id, &Value::Object(fields).to_string(), line);
    }

    /// Adds the answer of a call for which the books have added the arm `born`.
    pub fn take(
        &self,
        candidates: &mut Candidates,
        problem: &Problem,
        born: ArmId,
        call: &SettledCall<'_>,
    ) {
        let Some(questions) = problem.questions() else { return };
        let question = questions.of(born);
        let place = questions.answers(question).len();
        let answer = MadeAnswer { text: &call.note.reply, final_answer: &call.note.answer };
        self.add(candidates, question, place, answer);
    }

    /// The questions in a run's folder.
    pub(crate) fn kept(
        folder: &Folder,
        terms: &RunTerms,
        asked: &QuestionTerms,
    ) -> Result<Self, String> {
        let path = folder.questions();
        let id_field = terms.id_field.clone();
        let list =
            Candidates::read_from_run(&path, &id_field).map_err(|error| error.to_string())?;
        if list.len() != asked.count || hex(&list.fingerprint()) != asked.blake3 {
            return Err(format!("{}: not the questions that the run began with", path.display()));
        }
        let QuestionTerms { question_field, answer_field, .. } = asked.clone();
        Ok(Self { list, question_field, answer_field, id_field })
    }
}

/// The known final answers of each question: answers with equal final answers are one answer.
#[derive(Clone, Debug, Default)]
pub struct FinalAnswers(Vec<KnownAnswers>);

/// The final answers of one question, by their numbers.
#[derive(Clone, Debug, Default)]
struct KnownAnswers {
    texts: Vec<String>,
    by_text: HashMap<String, Label>,
}

impl FinalAnswers {
    pub(crate) fn new(question_count: usize) -> Self {
        Self(vec![KnownAnswers::default(); question_count])
    }

    /// The number of a final answer, a new one if it is new.
    pub fn label(&mut self, question: QuestionId, answer: &str) -> Label {
        let known = &mut self.0[question.index()];
        let key = answer.to_lowercase();
        if let Some(label) = known.by_text.get(&key) {
            return *label;
        }
        // Beyond the limit, an answer that differs only in its spelling may get a number of its own.
        let alike = known.texts.iter().take(COMPARED_MAX).position(|text| same(text, answer));
        let label = alike.unwrap_or(known.texts.len());
        let label = Label(u32::try_from(label).expect("there are fewer than 2^32 calls"));
        if alike.is_none() {
            known.texts.push(answer.to_owned());
        }
        known.by_text.insert(key, label);
        label
    }

    /// A number for an answer that is different from all others.
    fn unlike_any(&mut self, question: QuestionId) -> Label {
        let known = &mut self.0[question.index()];
        known.texts.push(String::new());
        Label(u32::try_from(known.texts.len() - 1).expect("there are fewer than 2^32 candidates"))
    }
}

/// A final answer as it is stored: a long one by its hash.
pub fn kept_answer(answer: &str) -> String {
    let answer = answer.trim();
    let lower = answer.to_lowercase();
    // A short answer that looks like a hash is hashed as well: it must not be taken for the answer of that hash.
    if answer.len() <= KEPT_BYTES_MAX && !lower.starts_with(HASHED) {
        return answer.to_owned();
    }
    format!("{HASHED}{}", blake3::hash(lower.as_bytes()))
}

/// Candidates with their questions and final answers. Of candidates with equal final answers, only the first is kept.
pub struct SortedCandidates {
    /// The candidates that are kept.
    pub candidates: Candidates,
    /// The question of each, and the number of its final answer.
    pub answers: Vec<(QuestionId, Label)>,
    /// All final answers.
    pub finals: FinalAnswers,
}

/// Finds the question and the final answer of each candidate. Without an `extractor`, all are different.
pub fn sort(
    questions: &RunQuestions,
    candidates: Candidates,
    extractor: Option<&Extractor>,
    name: &Path,
) -> Result<SortedCandidates, CandidatesError> {
    let mut finals = FinalAnswers::new(questions.list.len());
    let mut answers = Vec::new();
    let mut same_as: BTreeMap<(QuestionId, Label), ArmId> = BTreeMap::new();
    let mut merged = Vec::new();
    let mut faults = Vec::new();
    let mut found = Vec::with_capacity(candidates.len());
    for arm in candidates.arms() {
        let candidate = candidates.get(arm);
        let question = match candidate.field(&questions.question_field) {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) | None => String::new(),
        };
        let Some(question) = questions.list.arm_of(&question).map(|arm| QuestionId(arm.0)) else {
            let field = &questions.question_field;
            let line = candidates.line(arm);
            faults.push(if question.is_empty() {
                format!("line {line}: no text or whole number in the field {field:?}, which names its question")
            } else {
                format!("line {line}: {field} is {question:?}, which no question has for its id")
            });
            continue;
        };
        let text = candidate.field(&questions.answer_field).map(text_of).unwrap_or_default();
        let last = extractor.and_then(|extractor| extractor.extract(&text));
        let last = last.map(|last| kept_answer(&last));
        let label = match &last {
            Some(last) => finals.label(question, last),
            None => finals.unlike_any(question),
        };
        found.push(last);
        match same_as.get(&(question, label)) {
            Some(first) => merged.push((arm, *first)),
            None => {
                same_as.insert((question, label), arm);
                answers.push((question, label));
            }
        }
    }
    if let Some(first) = faults.first() {
        let more = match faults.len() - 1 {
            0 => String::new(),
            count => format!(" (and {} more)", counted(count, "candidate")),
        };
        let kind = CandidatesErrorKind::Document(format!("{first}{more}"));
        return Err(CandidatesError::new(name, kind));
    }
    let candidates = candidates.with_fields(|arm| {
        let last = found[arm.index()].as_ref()?;
        Some(Map::from_iter([(FINAL_ANSWER.to_owned(), last.as_str().into())]))
    });
    let candidates = without_merged(candidates, &merged, name);
    Ok(SortedCandidates { candidates, answers, finals })
}

/// Leaves out candidates whose final answer equals an earlier one's. `merged` has pairs of such a candidate and the
/// earlier one.
fn without_merged(candidates: Candidates, merged: &[(ArmId, ArmId)], name: &Path) -> Candidates {
    let Some((arm, first)) = merged.first() else { return candidates };
    let note = format!(
        "{}: {} the same final answer as an earlier one to the same question, for example {:?} as {:?}: they are one, and the first stands for them",
        name.display(),
        match merged.len() {
            1 => "a candidate has".into(),
            count => format!("{count} candidates have"),
        },
        candidates.id(*arm),
        candidates.id(*first)
    );
    let left_out: BTreeSet<ArmId> = merged.iter().map(|(arm, _)| *arm).collect();
    candidates.without(&left_out, note)
}

/// Candidates with the fields of their questions added, unless they have fields of the same name.
pub fn joined(
    candidates: &Candidates,
    list: &Candidates,
    question_field: &str,
    id_field: &str,
) -> Candidates {
    candidates.with_fields(|arm| {
        let candidate = candidates.get(arm);
        let id = candidate.field(question_field).map(text_of)?;
        let mut fields = list.get(list.arm_of(&id)?).fields().clone();
        fields.remove(id_field);
        Some(fields)
    })
}

/// The questions that candidates name, each with the fields that all its answers share.
pub fn of_candidates(
    candidates: &Candidates,
    question_field: &str,
    [id_field, answer_field]: [&str; 2],
    name: &Path,
) -> Result<Candidates, CandidatesError> {
    let mut fields: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut order = Vec::new();
    for arm in candidates.arms() {
        let candidate = candidates.get(arm);
        let id = match candidate.field(question_field) {
            Some(Value::String(id)) if !id.trim().is_empty() => id.clone(),
            Some(Value::Number(number)) if !number.is_f64() => number.to_string(),
            _ => {
                let line = candidates.line(arm);
                let message = format!(
                    "line {line}: no text or whole number in the field {question_field:?}, which names its question; a file of questions is `questions = …`"
                );
                let kind = CandidatesErrorKind::Document(message);
                return Err(CandidatesError::new(name, kind));
            }
        };
        let own = candidate.fields();
        match fields.get_mut(&id) {
            Some(common) => common.retain(|key, value| own.get(key) == Some(value)),
            None => {
                let mut own = own.clone();
                own.remove(answer_field);
                own.insert(id_field.to_owned(), id.as_str().into());
                order.push((id.clone(), candidates.line(arm)));
                fields.insert(id, own);
            }
        }
    }
    let mut questions = Candidates::empty(name);
    for (id, line) in order {
        let mut own = fields.remove(&id).unwrap_or_default();
        own.insert(id_field.to_owned(), id.as_str().into());
        questions.push(&id, &Value::Object(own).to_string(), line);
    }
    Ok(questions)
}

/// A fingerprint in hexadecimal.
pub fn hex(fingerprint: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*fingerprint).to_string()
}

/// The field that gets the final answer, unless the question has a field of this name.
pub(crate) const FINAL_ANSWER: &str = "final_answer";
/// The beginning of a hash that is stored instead of a final answer.
const HASHED: &str = "blake3 ";
/// A longer final answer is stored by its hash.
const KEPT_BYTES_MAX: usize = 200;
/// Each new final answer to a question is compared with at most this many earlier ones.
const COMPARED_MAX: usize = 1000;
