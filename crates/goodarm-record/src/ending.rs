//! How a run ended: a name and facts for programs, and a sentence for people.

use std::fmt;

use goodarm_core::StopReason;
use goodarm_files::words::counted;
use serde::{Deserialize, Serialize};

/// How a run ended, as `summary.json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndingView {
    /// Name and facts.
    #[serde(flatten)]
    pub facts: Ending,
    /// The ending in a sentence for people. It follows from the facts, so compare the facts.
    pub sentence: String,
}

/// How a run ended. Files have its name and its facts, but neither reasons nor replies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Ending {
    /// As many calls were made as the job allows; can be resumed with a larger `calls_max`.
    CallsUsedUp {
        /// The limit.
        calls_max: u64,
    },
    /// Someone asked to stop; only calls to people are in flight.
    Stopped {
        /// Whether calls in flight were not waited for: they count as lost, except those to people.
        at_once: bool,
    },
    /// Nothing is left to do until people have answered; can be resumed then.
    WaitsForPeople {
        /// The number of calls that wait.
        count: usize,
    },
    /// A verifier was down for longer than the job's patience, or cannot be started.
    VerifierDown {
        /// Which.
        verifier: String,
        /// The last error.
        #[serde(skip)]
        reason: String,
    },
    /// A verifier failed again and again and never gave a score: that is not evidence about answers. Fix the job.
    #[serde(rename = "never-worked")]
    NeverScored(Box<NeverScored>),
    /// A verifier gave output that was not asked for, so its scores cannot be trusted. Fix it, and begin a new run.
    Mistrusted {
        /// Which.
        verifier: String,
        /// What it did.
        #[serde(skip)]
        reason: String,
    },
    /// There is nothing more to do.
    #[serde(untagged, with = "done")]
    Done(StopReason),
}

/// The first failure of a verifier that never gave a score, in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeverScored {
    /// Which verifier, or which generator.
    pub verifier: String,
    /// What it never gave: a score, or an answer.
    pub lacks: String,
    /// The id of the candidate or of the question.
    #[serde(skip)]
    pub id: String,
    /// What was asked.
    #[serde(skip)]
    pub request: String,
    /// Why it failed.
    #[serde(skip)]
    pub reason: String,
    /// The reply, if there was one.
    #[serde(skip)]
    pub reply: String,
}

/// The reasons of the core as files have them: a name, and a reason if the name has several.
mod done {
    use goodarm_core::StopReason;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Name = (StopReason, &'static str, Option<&'static str>);

    const NAMES: [Name; 6] = [
        (StopReason::BudgetSpent, "budget-used-up", None),
        (StopReason::AllCertified, "done", Some("all-certified")),
        (StopReason::AllDecided, "done", Some("all-decided")),
        (StopReason::AllCallsMade, "done", Some("all-calls-made")),
        (StopReason::NothingWorthwhile, "finished-early", Some("nothing-worthwhile")),
        (StopReason::Hopeless, "finished-early", Some("hopeless")),
    ];

    pub(super) fn named(done: StopReason) -> Name {
        *NAMES.iter().find(|it| it.0 == done).expect("every reason has a name")
    }

    #[derive(Serialize, Deserialize)]
    struct Named {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(
        done: &StopReason,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let (_, name, reason) = named(*done);
        Named { name: name.into(), reason: reason.map(Into::into) }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<StopReason, D::Error> {
        let Named { name, reason } = Named::deserialize(deserializer)?;
        let is_it = |it: &&Name| (it.1, it.2) == (name.as_str(), reason.as_deref());
        let found = NAMES.iter().find(is_it);
        found.map(|it| it.0).ok_or_else(|| D::Error::custom("no such ending"))
    }
}

impl EndingView {
    /// Adds the sentence, which is about questions if the run has some, and else about answers.
    pub fn new(facts: Ending, has_questions: bool) -> Self {
        Self { sentence: facts.sentence(has_questions), facts }
    }
}

impl Ending {
    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done(reason) => done::named(*reason).1,
            Self::CallsUsedUp { .. } => "calls-used-up",
            Self::Stopped { .. } => "stopped",
            Self::WaitsForPeople { .. } => "waits-for-people",
            Self::VerifierDown { .. } => "verifier-down",
            Self::NeverScored(_) => "never-worked",
            Self::Mistrusted { .. } => "mistrusted",
        }
    }

    fn sentence(&self, has_questions: bool) -> String {
        match self {
            Self::Done(reason) => done_sentence(*reason, has_questions).to_owned(),
            Self::CallsUsedUp { calls_max } => {
                let calls = counted(*calls_max, "call");
                format!("calls_max allows no more than {calls}: can be resumed with more")
            }
            Self::Stopped { at_once: false } => "interrupted: can be resumed".to_owned(),
            Self::Stopped { at_once: true } => "left: can be resumed".to_owned(),
            Self::WaitsForPeople { count } => {
                let (wait, they) =
                    if *count == 1 { ("call waits", "it is") } else { ("calls wait", "they are") };
                format!("{count} {wait} for a person: can be resumed when {they} answered")
            }
            Self::VerifierDown { verifier, .. } => format!("{verifier} was down: can be resumed"),
            Self::NeverScored(failed) => {
                let NeverScored { verifier, lacks, .. } = &**failed;
                format!("{verifier} has never given {lacks}: fix the job and begin again")
            }
            Self::Mistrusted { verifier, .. } => format!(
                "{verifier} wrote what it was not asked for, so its scores are in doubt: fix it and begin again"
            ),
        }
    }
}

const fn done_sentence(reason: StopReason, has_questions: bool) -> &'static str {
    match reason {
        StopReason::BudgetSpent => "no verifier is affordable any more",
        StopReason::AllCertified if has_questions => "every question is answered",
        StopReason::AllCertified => "every answer is certified",
        StopReason::AllDecided if has_questions => {
            "every question is answered, or has no answer left that could be certified"
        }
        StopReason::AllDecided => "every answer is certified or has failed a check",
        StopReason::AllCallsMade => "all calls are made",
        StopReason::NothingWorthwhile => "nothing is worth a call any more",
        StopReason::Hopeless => {
            "no further answer has a realistic chance with the money that is left"
        }
    }
}

/// In words about answers, for people.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_read_a_name_and_facts_and_people_a_sentence() {
        let done = EndingView::new(Ending::Done(StopReason::AllDecided), false);
        let expected = json!({
            "name": "done",
            "reason": "all-decided",
            "sentence": "every answer is certified or has failed a check",
        });
        assert_eq!(serde_json::to_value(&done).expect("plain data"), expected);
        assert_eq!(serde_json::from_value::<EndingView>(expected).expect("the same"), done);
    }

    #[test]
    fn each_ending_has_its_name() {
        let verifier = || "judge".to_owned();
        let never_scored = NeverScored {
            verifier: verifier(),
            lacks: "a score".into(),
            id: String::new(),
            request: String::new(),
            reason: String::new(),
            reply: String::new(),
        };
        let endings = [
            (Ending::Done(StopReason::BudgetSpent), "budget-used-up"),
            (Ending::CallsUsedUp { calls_max: 9 }, "calls-used-up"),
            (Ending::Done(StopReason::AllCertified), "done"),
            (Ending::Done(StopReason::Hopeless), "finished-early"),
            (Ending::Stopped { at_once: false }, "stopped"),
            (Ending::WaitsForPeople { count: 2 }, "waits-for-people"),
            (Ending::VerifierDown { verifier: verifier(), reason: String::new() }, "verifier-down"),
            (Ending::NeverScored(Box::new(never_scored)), "never-worked"),
            (Ending::Mistrusted { verifier: verifier(), reason: String::new() }, "mistrusted"),
        ];
        for (facts, name) in endings {
            assert_eq!(facts.name(), name);
            let view = EndingView::new(facts, true);
            let written = serde_json::to_value(&view).expect("plain data");
            assert_eq!(
                serde_json::from_value::<EndingView>(written.clone()).expect("as written"),
                view
            );
            assert_eq!(written["name"], name);
            assert!(written["sentence"].as_str().is_some_and(|sentence| !sentence.is_empty()));
        }
    }
}
