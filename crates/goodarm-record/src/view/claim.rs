//! What people's labels prove about the certified answers, for the summary, the report and the label page.

use goodarm_core::Claim;
use goodarm_files::words::{confidence, counted, number, were};
use serde::Serialize;

use crate::card_queue::CardReply;
use crate::claims::labelled::{Claims, LabelledClaim};

/// Bounds on the number of right answers, of those that were certified when the labels began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimView {
    /// Its number, counted from 1. A run can have several, each about the answers certified by then.
    pub claim: usize,
    /// The claim in a sentence.
    pub statement: String,
    /// How many answers it is about.
    pub answers: usize,
    /// The lower bound.
    pub at_least: usize,
    /// The upper bound. Each bound has the confidence on its own; both together are false with twice `delta` at most.
    pub at_most: usize,
    /// The lower bound as a share of `answers`, rounded down to four decimal places.
    pub share: f64,
    /// The largest probability that the lower bound of any claim of the run is ever false, and likewise any upper bound:
    /// the sum over all claims that have begun. The run's own δ is about the verifiers.
    pub delta: f64,
    /// The part of it that this claim took when it began; each of its bounds was computed with this.
    pub own_delta: f64,
    /// 1 − `delta`, for people.
    pub confidence: String,
    /// How many people label each answer, which is right if all of them say so.
    pub labels_per_card: usize,
    /// Answers that count: they have all their labels, and so have all answers before them.
    pub labels: usize,
    /// How many of these are right.
    pub right: usize,
    /// How many are not right, with at least one label wrong.
    pub wrong: usize,
    /// How many are not right because the labellers could not tell.
    pub skipped: usize,
    /// Labels that do not count yet, because an earlier answer lacks one.
    pub behind_gap: usize,
    /// Answers that count and have different labels.
    pub disagreements: usize,
    /// Labels that were undone.
    pub changed: usize,
    /// Who has labelled, and how often.
    pub labellers: Vec<LabellerView>,
    /// Answers that were certified since the claim began. The claim is not about them.
    pub grown_by: usize,
    /// The number of lines of `labels.jsonl` that this was made from.
    pub lines: usize,
    /// The assumptions of the claim, and notes for the reader.
    pub rests_on: Vec<String>,
    /// The earlier claims of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Self>,
}

/// A labeller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabellerView {
    /// Their name: untrusted.
    pub name: String,
    /// How many of their labels are valid.
    pub labels: usize,
}

impl ClaimView {
    /// The last claim of a run with `certified` certified answers; `None` without a claim.
    pub(crate) fn new(labels: &Claims, certified: usize) -> Option<Self> {
        let (last, earlier) = labels.claims.split_last()?;
        let view = |labelled: &LabelledClaim| Self::of(labelled, labels, certified);
        let mut own = view(last);
        own.earlier = earlier.iter().map(view).collect();
        let said = |it: &Self| format!("Claim {} before it: {}.", it.claim, it.statement);
        own.rests_on.extend(own.earlier.iter().map(said));
        if !earlier.is_empty() {
            own.rests_on.push(format!(
                "{} about this run have begun, and a reader may be shown the best of them: all statements together hold with confidence {}, so each has this one.",
                counted(labels.claims.len(), "claim"),
                own.confidence
            ));
        }
        Some(own)
    }

    fn of(labelled: &LabelledClaim, labels: &Claims, certified: usize) -> Self {
        let begun = &labelled.begun;
        let claim = labelled.claim();
        let verdicts: Vec<CardReply> = labelled.verdicts().collect();
        let count = |wanted: CardReply| verdicts.iter().filter(|it| **it == wanted).count();
        let labeller =
            |(name, labels): (&String, usize)| LabellerView { name: name.clone(), labels };
        let labellers = labelled.labellers.iter().map(|it| (&it.name, it.given.len()));
        let mut view = Self {
            claim: begun.claim,
            statement: String::new(),
            answers: claim.size(),
            at_least: claim.bound(),
            at_most: labelled.at_most(),
            share: share(claim.bound(), claim.size()),
            delta: labels.delta(),
            own_delta: begun.delta,
            confidence: confidence(labels.delta()),
            labels_per_card: begun.labels_per_card,
            labels: verdicts.len(),
            right: count(CardReply::Right),
            wrong: count(CardReply::Wrong),
            skipped: count(CardReply::Skip),
            behind_gap: labelled.label_count() - verdicts.len() * begun.labels_per_card,
            disagreements: labelled.disagreement_count(),
            changed: labelled.undone_count,
            labellers: labellers.filter(|(_, count)| *count > 0).map(labeller).collect(),
            grown_by: certified.saturating_sub(claim.size()),
            lines: labels.line_count,
            rests_on: Vec::new(),
            earlier: Vec::new(),
        };
        view.statement = view.statement();
        view.rests_on = view.rests_on();
        view
    }

    fn statement(&self) -> String {
        let which = match self.grown_by {
            0 => format!("the {}", counted(self.answers, "certified answer")),
            _ => format!(
                "the {} that were certified when the labels began",
                counted(self.answers, "answer")
            ),
        };
        let labels = match self.labels_per_card {
            1 => counted(self.labels, "label"),
            people => format!("{} labelled by {people} people", counted(self.labels, "answer")),
        };
        let skipped = match self.skipped {
            0 => String::new(),
            count => format!(", {} skipped", number(count as u64)),
        };
        let found = format!("{labels}, {} wrong{skipped}", number(self.wrong as u64));
        let [least, most] = [self.at_least, self.at_most].map(|count| number(count as u64));
        if self.labels == self.answers {
            let right = match self.skipped {
                0 => least,
                _ => format!("at least {least} and at most {most}"),
            };
            return format!("{right} of {which} are right: all of them are labelled ({found})");
        }
        let (confidence, share) = (&self.confidence, percent(self.at_least, self.answers));
        let at_most = match percent_up(self.at_most, self.answers) {
            Some(share) => format!("at most {share}"),
            None => format!("at most {most}"),
        };
        match (self.at_least > 0, self.at_most < self.answers) {
            (false, false) => format!("nothing is known yet about {which} ({found})"),
            (false, true) => {
                format!("with confidence {confidence} {at_most} of {which} are right ({found})")
            }
            (true, false) => format!(
                "with confidence {confidence} at least {share} of {which} are right ({found})"
            ),
            (true, true) => format!(
                "with confidence {confidence} at least {share} of {which} are right, and with the same confidence {at_most} ({found})"
            ),
        }
    }

    fn rests_on(&self) -> Vec<String> {
        let rule = match self.labels_per_card {
            1 => "the person who labels it says so".to_owned(),
            people => format!("all of its {people} labels say so"),
        };
        let mut texts = vec![
            format!("Labels by {}; an answer is right if {rule}.", self.who()),
            "The order of the answers was drawn at random before the first label, so that people could not choose; a run's delta is about what its verifiers say, and this confidence about the labels.".to_owned(),
        ];
        if self.at_least > 0 && self.at_most < self.answers && self.labels < self.answers {
            let together = match 2.0 * self.delta {
                delta if delta < 1.0 => format!("; both together have {}", confidence(delta)),
                _ => String::new(),
            };
            let own = &self.confidence;
            texts
                .push(format!("Each of the two bounds has confidence {own} on its own{together}."));
        }
        if self.skipped > 0 {
            texts.push(format!(
                "{} skipped, which counts as wrong in the lower bound and as right in the upper one: a skipped answer may be either.",
                were(self.skipped, "answer")
            ));
        }
        if self.behind_gap > 0 {
            texts.push(format!(
                "{} not counted yet: an answer before theirs lacks one.",
                were(self.behind_gap, "label")
            ));
        }
        if self.labels_per_card > 1 {
            texts.push(format!(
                "People disagree about {} of {}.",
                number(self.disagreements as u64),
                counted(self.labels, "answer")
            ));
        }
        if self.changed > 0 {
            texts.push(format!(
                "{} undone after the verifiers' results were shown, which may have biased the labeller.",
                were(self.changed, "label")
            ));
        }
        if self.grown_by > 0 {
            texts.push(format!(
                "{} certified since, which this claim is not about.",
                were(self.grown_by, "answer")
            ));
        }
        texts
    }

    /// The most active labellers, by name.
    fn who(&self) -> String {
        let mut labellers: Vec<&LabellerView> = self.labellers.iter().collect();
        labellers.sort_by_key(|labeller| std::cmp::Reverse(labeller.labels));
        let (named, others) = labellers.split_at(labellers.len().min(NAMED_MAX));
        let mut names: Vec<String> = named
            .iter()
            .map(|LabellerView { name, labels }| format!("{name:?} ({})", number(*labels as u64)))
            .collect();
        if !others.is_empty() {
            names.push(counted(others.len(), "other"));
        }
        match names.split_last() {
            None => "no one yet".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        }
    }
}

/// How many labels are needed to claim the share `wanted`, in words; empty when all answers are labelled.
pub(crate) fn outlook(claim: &Claim, wanted: f64, labels_per_card: usize) -> String {
    let (size, labelled) = (claim.size(), claim.label_count());
    if labelled == size {
        return String::new();
    }
    let shown = |percent: f64| format!("{} %", (percent * 10.0).round() / 10.0);
    let goal = |percent: f64| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of answers"
        )]
        let count = (percent / 100.0 * size as f64 - ROUNDING).ceil() as usize;
        claim.labels_to_go(count.min(size)).map(|answers| answers * labels_per_card)
    };
    let to_go = |labels: usize, percent: f64| {
        format!(
            "about {} until {}, if all of them say right",
            counted(labels, "more label"),
            shown(percent)
        )
    };
    let wanted = 100.0 * wanted;
    match goal(wanted) {
        Some(0) => {
            format!(
                "{} is reached; labels that say wrong could still lower the claim",
                shown(wanted)
            )
        }
        Some(labels) => to_go(labels, wanted),
        None => {
            let most = (size - (labelled - claim.right_count())) * 100 / size;
            #[expect(clippy::cast_precision_loss, reason = "at most 100")]
            let most = most as f64;
            let then = goal(most).filter(|labels| *labels > 0);
            let then = then.map_or_else(String::new, |labels| format!(": {}", to_go(labels, most)));
            format!("{} cannot be reached any more, {} at most{then}", shown(wanted), shown(most))
        }
    }
}

/// A share for people, rounded down: 93.1 %.
fn percent(part: usize, whole: usize) -> String {
    in_percent(scaled(part, whole, 1000))
}

/// The same, rounded up; `None` if that makes it 100 %.
fn percent_up(part: usize, whole: usize) -> Option<String> {
    let thousandths = (part as u128 * 1000).div_ceil(whole as u128);
    (thousandths < 1000).then(|| in_percent(thousandths))
}

fn in_percent(thousandths: u128) -> String {
    match (thousandths / 10, thousandths % 10) {
        (whole, 0) => format!("{whole} %"),
        (whole, tenths) => format!("{whole}.{tenths} %"),
    }
}

/// A share as a number, rounded down to four decimal places.
fn share(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "at most 10,000")]
    let scaled = scaled(part, whole, 10_000) as f64;
    scaled / 10_000.0
}

const fn scaled(part: usize, whole: usize, parts: u128) -> u128 {
    part as u128 * parts / whole as u128
}

/// The most people that are named; the others are only counted.
const NAMED_MAX: usize = 5;
/// Subtracted before rounding up, so that 0.95 of 100 answers is 95 and not 96.
const ROUNDING: f64 = 1e-9;
