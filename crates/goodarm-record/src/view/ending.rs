//! How a run ended, for programs by a name and its facts, and for people by a sentence.

use goodarm_files::words::counted;
use serde::{Deserialize, Serialize};

/// How a run ended, as `summary.json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndingView {
    /// What is the case.
    #[serde(flatten)]
    pub facts: EndingFacts,
    /// The same for people. It follows from the facts, so compare those.
    pub sentence: String,
}

/// How a run ended: a name, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum EndingFacts {
    /// No verifier is affordable with what is left of the budget.
    BudgetUsedUp,
    /// As many calls were made as `calls_max` allows.
    CallsUsedUp {
        /// How many that is.
        calls_max: u64,
    },
    /// Every answer, or every question, is decided.
    Done {
        /// In which way.
        reason: DoneReason,
    },
    /// Money is left, and would be wasted.
    FinishedEarly {
        /// Why.
        reason: EarlyReason,
    },
    /// Someone asked to stop.
    Stopped {
        /// Whether calls in flight were not waited for: they count as lost.
        at_once: bool,
    },
    /// Nothing is left to do until people have answered.
    WaitsForPeople {
        /// The number of calls that wait.
        count: usize,
    },
    /// A verifier was down for longer than its patience.
    VerifierDown {
        /// Which.
        verifier: String,
    },
    /// A verifier failed again and again, and never worked.
    NeverWorked {
        /// Which.
        verifier: String,
        /// What it never gave: a score, or an answer.
        lacks: String,
    },
    /// A verifier gave output that was not asked for: its scores cannot be trusted.
    Mistrusted {
        /// Which.
        verifier: String,
    },
}

/// In which way everything is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoneReason {
    /// Every answer is certified, or one for every question.
    AllCertified,
    /// Every answer is certified or has failed a check.
    AllDecided,
    /// Every call of a recording is made.
    AllCallsMade,
}

/// Why a run finished before its budget was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyReason {
    /// The policy sees no call that is worth its price.
    NothingWorthwhile,
    /// No answer has a realistic chance with the money that is left.
    Hopeless,
}

impl EndingView {
    /// With a sentence about questions if the run has some, and about answers if not.
    pub fn new(facts: impl Into<EndingFacts>, has_questions: bool) -> Self {
        let facts = facts.into();
        Self { sentence: facts.sentence(has_questions), facts }
    }
}

impl EndingFacts {
    /// Its name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BudgetUsedUp => "budget-used-up",
            Self::CallsUsedUp { .. } => "calls-used-up",
            Self::Done { .. } => "done",
            Self::FinishedEarly { .. } => "finished-early",
            Self::Stopped { .. } => "stopped",
            Self::WaitsForPeople { .. } => "waits-for-people",
            Self::VerifierDown { .. } => "verifier-down",
            Self::NeverWorked { .. } => "never-worked",
            Self::Mistrusted { .. } => "mistrusted",
        }
    }

    fn sentence(&self, has_questions: bool) -> String {
        let fixed = match self {
            Self::BudgetUsedUp => "no verifier is affordable any more",
            Self::CallsUsedUp { calls_max } => {
                let calls = counted(*calls_max, "call");
                return format!("calls_max allows no more than {calls}: can be resumed with more");
            }
            Self::Done { reason: DoneReason::AllCertified } if has_questions => {
                "every question is answered"
            }
            Self::Done { reason: DoneReason::AllCertified } => "every answer is certified",
            Self::Done { reason: DoneReason::AllDecided } if has_questions => {
                "every question is answered, or has no answer left that could be certified"
            }
            Self::Done { reason: DoneReason::AllDecided } => {
                "every answer is certified or has failed a check"
            }
            Self::Done { reason: DoneReason::AllCallsMade } => "all calls are made",
            Self::FinishedEarly { reason: EarlyReason::NothingWorthwhile } => {
                "nothing is worth a call any more"
            }
            Self::FinishedEarly { reason: EarlyReason::Hopeless } => {
                "no further answer has a realistic chance with the money that is left"
            }
            Self::Stopped { at_once: false } => "interrupted: can be resumed",
            Self::Stopped { at_once: true } => "left: can be resumed",
            Self::WaitsForPeople { count } => {
                let (wait, they) =
                    if *count == 1 { ("call waits", "it is") } else { ("calls wait", "they are") };
                return format!("{count} {wait} for a person: can be resumed when {they} answered");
            }
            Self::VerifierDown { verifier } => {
                return format!("{verifier} was down: can be resumed");
            }
            Self::NeverWorked { verifier, lacks } => {
                return format!("{verifier} has never given {lacks}: fix the job and begin again");
            }
            Self::Mistrusted { verifier } => {
                return format!(
                    "{verifier} wrote what it was not asked for, so its scores are in doubt: fix it and begin again"
                );
            }
        };
        fixed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_read_a_name_and_facts_and_people_a_sentence() {
        let done = EndingView::new(EndingFacts::Done { reason: DoneReason::AllDecided }, false);
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
        let endings = [
            (EndingFacts::BudgetUsedUp, "budget-used-up"),
            (EndingFacts::CallsUsedUp { calls_max: 9 }, "calls-used-up"),
            (EndingFacts::Done { reason: DoneReason::AllCertified }, "done"),
            (EndingFacts::FinishedEarly { reason: EarlyReason::Hopeless }, "finished-early"),
            (EndingFacts::Stopped { at_once: false }, "stopped"),
            (EndingFacts::WaitsForPeople { count: 2 }, "waits-for-people"),
            (EndingFacts::VerifierDown { verifier: verifier() }, "verifier-down"),
            (
                EndingFacts::NeverWorked { verifier: verifier(), lacks: "a score".into() },
                "never-worked",
            ),
            (EndingFacts::Mistrusted { verifier: verifier() }, "mistrusted"),
        ];
        for (facts, name) in endings {
            assert_eq!(facts.name(), name);
            let written = serde_json::to_value(EndingView::new(facts, true)).expect("plain data");
            assert_eq!(written["name"], name);
            assert!(written["sentence"].as_str().is_some_and(|sentence| !sentence.is_empty()));
        }
    }
}
