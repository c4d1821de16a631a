//! Labels that people give to the certified answers of a run, and what they prove: with a confidence of
//! their own, a lower bound on the number of right answers.
//!
//! A claim is about the answers that were certified when it began. Their order is drawn at random then and written
//! down before the first label, so that people cannot choose. Labels are taken in this order; those before the
//! first gap count. Policies, sessions and books never see them.

pub(crate) mod record;

use std::collections::HashSet;
use std::path::PathBuf;

use goodarm_core::EventError;

use crate::card_queue::{
    Card, CardQueue, CardQueueError, CardReply, CardStatus, QueueProgress, ReplyForm,
};
use crate::claims::labelled::{Claims, LabelledClaim};
use crate::claims::line::{CardLabel, ClaimStarted, LabelLine, LabelUndone, LabelsAdded};
use crate::claims::{Consensus, order};
use crate::folder::Folder;
use crate::journal::{FolderLock, LockError, unix_millis};
use crate::labels::record::LabelledRun;
use crate::outputs::{self, OutputError};
use crate::replay::{Balance, Follower, JournalError, Replay};
use crate::sealed_lines::{SealedError, SealedWriter};
use crate::terms::RunTerms;
use crate::view::claim::outlook;
use crate::view::{ClaimView, Overview};

/// The terms of a claim. Those that are `None` are as in the present claim, or the default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClaimTerms {
    /// The probability that the claim is ever false: 0.05, and for another claim half of the previous one's. The run's
    /// own δ is about the verifiers.
    pub delta: Option<f64>,
    /// When an answer is right: by one label, or, with several labels, by all of them.
    pub rule: Option<Consensus>,
    /// How many people label each answer: 1.
    pub labels_per_card: Option<usize>,
    /// The share to aim for, 0.95; used only for the outlook.
    pub wanted: Option<f64>,
}

/// Why a run cannot be labelled, or its claim not be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// The journal.
    #[error(transparent)]
    Replay(#[from] JournalError),
    /// The candidates of the run.
    #[error("{0}")]
    Candidates(String),
    /// They are not those of the run.
    #[error("{}: not the candidates of the run", .0.display())]
    OtherCandidates(PathBuf),
    /// There is nothing to label.
    #[error("no answer of {} is certified: there is nothing to label yet", .0.display())]
    NothingCertified(PathBuf),
    /// The file of labels.
    #[error(transparent)]
    Labels(#[from] SealedError),
    /// The labels belong to another run, or were changed.
    #[error("{}: {reason}: these are not labels of this run", path.display())]
    OtherRun {
        /// Where they are.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// Labels are missing that were there.
    #[error(
        "{} has {found} lines, but {} was made from {seen}: it is an older one. Put the newer one back",
        labels.display(), summary.display()
    )]
    Older {
        /// The file of labels.
        labels: PathBuf,
        /// What has seen more of it.
        summary: PathBuf,
        /// The lines that it has seen.
        seen: u64,
        /// How many there are.
        found: usize,
    },
    /// The claim that has begun has other terms.
    #[error(
        "claim {claim} has begun with {key} {theirs}, and not {asked}: its terms were fixed before the first label. Go on without it, or begin another claim"
    )]
    OtherTerms {
        /// The number of the claim.
        claim: usize,
        /// What differs.
        key: &'static str,
        /// What it is.
        theirs: String,
        /// What was asked for.
        asked: String,
    },
    /// Terms that no claim can have.
    #[error("{0}")]
    Terms(CardQueueError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The run's folder cannot be locked.
    #[error(transparent)]
    Lock(LockError),
}

/// The certified answers of a run, one card each, in the order of its claim.
pub struct ClaimQueue {
    record: LabelledRun,
    labels: Claims,
    /// `None` once a line may be half-written.
    writer: Option<SealedWriter>,
    wanted: f64,
    /// A note about the run for the labeller.
    note: Option<&'static str>,
}

impl ClaimQueue {
    /// Continues the claim of a run, or begins the first one.
    pub fn open(folder: &Folder, terms: &ClaimTerms) -> Result<Self, LabelError> {
        let (read, mut queue) = Self::read(folder, terms)?;
        let first = match queue.labels.claims.last() {
            Some(last) => agree(&last.begun, terms).map(|()| None)?,
            None => Some(queue.beginning(terms, &ClaimTerms::default())?),
        };
        // A folder that cannot be labelled gets no file.
        let (writer, lines) = SealedWriter::open::<LabelLine>(&folder.labels())?;
        if lines != read {
            return Err(SealedError::Busy(folder.labels()).into());
        }
        queue.writer = Some(writer);
        first.map_or(Ok(()), |first| queue.begin(first))?;
        Ok(queue)
    }

    /// The claim of a run, read-only: nothing is written or locked. `None` without a claim.
    pub fn look(folder: &Folder, terms: &ClaimTerms) -> Result<Option<Self>, LabelError> {
        let (_, queue) = Self::read(folder, terms)?;
        let Some(last) = queue.labels.claims.last() else { return Ok(None) };
        agree(&last.begun, terms)?;
        Ok(Some(queue))
    }

    /// What is in the folder: the lines as well.
    fn read(folder: &Folder, terms: &ClaimTerms) -> Result<(Vec<LabelLine>, Self), LabelError> {
        let wanted = wanted(terms)?;
        let (lines, labels) = record::read(folder)?;
        check_seen(folder, &labels)?;
        let record = LabelledRun::read(folder, &labels, |balance| balance)?;
        record.check(&labels)?;
        let is_over = folder.seen().is_some_and(|seen| seen == record.mark);
        let note = (!is_over).then_some(UNFINISHED);
        Ok((lines, Self { record, labels, writer: None, wanted, note }))
    }

    /// Begins another claim, about the answers that are certified by now. It has a δ of its own, half of
    /// the last one's unless the terms say otherwise; rule and labels are as they were unless they do.
    pub fn begin_another(&mut self, terms: &ClaimTerms) -> Result<(), LabelError> {
        let wanted = wanted(terms)?;
        let before = &self.last().begun;
        let defaults = ClaimTerms {
            delta: Some(before.delta / 2.0),
            rule: terms.labels_per_card.is_none().then_some(before.rule),
            labels_per_card: Some(before.labels_per_card),
            wanted: None,
        };
        let line = self.beginning(terms, &defaults)?;
        self.begin(line)?;
        self.wanted = wanted;
        Ok(())
    }

    /// The claim so far.
    pub fn claim(&self) -> ClaimView {
        let certified = self.record.certified().len();
        ClaimView::new(&self.labels, certified).expect("a queue has a claim")
    }

    /// Whether the claim is about an answer.
    pub fn is_about(&self, id: &str) -> bool {
        self.last().is_about(id)
    }

    /// The line with which the next claim begins.
    fn beginning(
        &self,
        terms: &ClaimTerms,
        defaults: &ClaimTerms,
    ) -> Result<LabelLine, LabelError> {
        let certified = self.record.certified();
        if certified.is_empty() {
            return Err(LabelError::NothingCertified(self.record.folder().path().to_owned()));
        }
        let claim = self.labels.claims.len() + 1;
        let labels_per_card = terms.labels_per_card.or(defaults.labels_per_card).unwrap_or(1);
        let rule = terms.rule.or(defaults.rule);
        // Drawn after the terms are fixed, so that terms cannot be chosen for a lucky order.
        let draw = draw()?;
        let line = LabelLine::Started(ClaimStarted {
            claim,
            delta: terms.delta.or(defaults.delta).unwrap_or(DELTA),
            rule: rule.unwrap_or_else(|| Consensus::natural(labels_per_card)),
            labels_per_card,
            journal: self.record.mark.clone(),
            order: order::drawn(self.record.terms().seed(), claim, &draw, certified),
            draw,
            unix_millis: unix_millis(),
        });
        self.labels.check(&line).map_err(LabelError::Terms)?;
        Ok(line)
    }

    /// Writes down the order before the first card is shown.
    fn begin(&mut self, line: LabelLine) -> Result<(), LabelError> {
        self.write(line).map_err(|error| match error {
            CardQueueError::File(error) => LabelError::Labels(error),
            error => LabelError::Terms(error),
        })
    }

    fn last(&self) -> &LabelledClaim {
        self.labels.claims.last().expect("a queue has a claim")
    }

    /// Takes a line, and returns when it is on the disk.
    fn write(&mut self, line: LabelLine) -> Result<(), CardQueueError> {
        self.labels.check(&line)?;
        let mut writer = self.writer.take().ok_or_else(|| {
            CardQueueError::Folder("labels.jsonl could not be written: open it again".into())
        })?;
        writer.append(&line)?;
        self.writer = Some(writer);
        self.labels.take(&line)
    }

    fn card(&self, place: usize) -> Card {
        self.record.card(self.last().id(place)).expect("a claim is about candidates of its run")
    }
}

impl CardQueue for ClaimQueue {
    fn upcoming(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError> {
        Ok(self.last().upcoming(labeller).take(most).map(|place| self.card(place)).collect())
    }

    fn statuses(&mut self, labeller: &str) -> Result<Vec<CardStatus>, CardQueueError> {
        let labelled = self.last();
        let waiting: HashSet<usize> = labelled.upcoming(labeller).collect();
        let place = |place: usize| CardStatus {
            key: labelled.id(place).to_owned(),
            id: labelled.id(place).to_owned(),
            wanted: ReplyForm::Verdict,
            said: labelled.said(labeller, place).cloned(),
            waits: waiting.contains(&place),
        };
        Ok((0..labelled.size()).map(place).collect())
    }

    fn submit_all(
        &mut self,
        labeller: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError> {
        let labels: Vec<CardLabel> =
            said.into_iter().map(|(key, said)| CardLabel { key, said }).collect();
        if labels.is_empty() {
            return Ok(());
        }
        self.write(LabelLine::Added(LabelsAdded {
            by: labeller.to_owned(),
            unix_millis: unix_millis(),
            labels,
        }))
    }

    fn undo(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError> {
        let Some(place) = self.last().last_of(labeller) else { return Ok(None) };
        self.write(LabelLine::Undone(LabelUndone {
            by: labeller.to_owned(),
            unix_millis: unix_millis(),
            key: self.last().id(place).to_owned(),
        }))?;
        Ok(Some(self.card(place)))
    }

    fn progress(&mut self) -> Result<QueueProgress, CardQueueError> {
        let labelled = self.last();
        let outlook = outlook(&labelled.claim(), self.wanted, labelled.begun.labels_per_card);
        let outlook: Vec<&str> =
            [outlook.as_str()].into_iter().filter(|it| !it.is_empty()).chain(self.note).collect();
        Ok(QueueProgress {
            statement: self.claim().statement,
            outlook: outlook.join("; "),
            done: labelled.done_count(),
            all: labelled.size(),
        })
    }
}

/// What the labels in a folder prove about a run with these terms and certified answers, in the order of their
/// certificates; `None` without labels.
pub fn claim(
    folder: &Folder,
    terms: &RunTerms,
    certified: &[&str],
) -> Result<Option<ClaimView>, LabelError> {
    let (_, labels) = record::read(folder)?;
    check_seen(folder, &labels)?;
    for claim in &labels.claims {
        order::check(&claim.begun, &folder.journal(), terms.seed(), certified, None)
            .map_err(|reason| LabelError::OtherRun { path: folder.labels(), reason })?;
    }
    Ok(ClaimView::new(&labels, certified.len()))
}

/// A claim that was written into the summary of its run.
pub struct PublishedClaim<F = Balance> {
    /// The run as its summary has it.
    pub overview: Overview,
    /// Its journal, at its end.
    pub replay: Replay<F>,
}

/// Writes the claim of a run that has ended into its summary. If the run is still going, it does that itself at its
/// end: then nothing is done, and `None` is returned. The journal is read once: `follower` makes what
/// takes its entries from the balance that they begin with.
pub fn publish<F>(
    folder: &Folder,
    follower: impl FnOnce(Balance) -> F,
) -> Result<Option<PublishedClaim<F>>, LabelError>
where
    F: Follower<Refusal = EventError> + AsRef<Balance>,
{
    let _lock = match FolderLock::take(folder.path()) {
        Ok(lock) => lock,
        Err(LockError::Held { .. }) => return Ok(None),
        Err(error) => return Err(LabelError::Lock(error)),
    };
    if !folder.labels().exists() || !folder.summary().exists() {
        return Ok(None);
    }
    let (_, labels) = record::read(folder)?;
    let record = LabelledRun::read(folder, &labels, follower)?;
    record.check(&labels)?;
    if folder.seen().is_none_or(|seen| seen != record.mark) {
        return Ok(None);
    }
    let ending = folder.in_summary("/ending");
    let claim = ClaimView::new(&labels, record.certified().len());
    let overview = Overview { ending, ..record.overview(claim) };
    outputs::write_summary(folder, &overview)?;
    Ok(Some(PublishedClaim { overview, replay: record.into_replay() }))
}

/// Checks that no labels are missing that a run's summary was made from: a resumed run would write a summary without
/// them.
pub fn check_none_gone(folder: &Folder) -> Result<(), LabelError> {
    match folder.labels_seen() {
        Some(_) => check_seen(folder, &record::read(folder)?.1),
        None => Ok(()),
    }
}

/// 128 random bits.
fn draw() -> Result<String, LabelError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        LabelError::Terms(CardQueueError::Folder(format!("no randomness for the order: {error}")))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Checks that the summary has not seen more labels than there are.
fn check_seen(folder: &Folder, labels: &Claims) -> Result<(), LabelError> {
    let found = labels.line_count;
    match folder.labels_seen() {
        Some(seen) if seen > found as u64 => {
            let (labels, summary) = (folder.labels(), folder.summary());
            Err(LabelError::Older { labels, summary, seen, found })
        }
        _ => Ok(()),
    }
}

/// Checks that the given terms are those of the claim.
fn agree(begun: &ClaimStarted, terms: &ClaimTerms) -> Result<(), LabelError> {
    let differs = |key, theirs: String, asked: Option<String>| match asked {
        Some(asked) if asked != theirs => {
            Err(LabelError::OtherTerms { claim: begun.claim, key, theirs, asked })
        }
        _ => Ok(()),
    };
    differs("delta", begun.delta.to_string(), terms.delta.map(|delta| delta.to_string()))?;
    let rule = terms.rule.map(|rule| rule.name().to_owned());
    differs("the rule", begun.rule.name().to_owned(), rule)?;
    let labels = terms.labels_per_card.map(|labels| labels.to_string());
    differs("labels a card", begun.labels_per_card.to_string(), labels)
}

fn wanted(terms: &ClaimTerms) -> Result<f64, LabelError> {
    let wanted = terms.wanted.unwrap_or(WANTED);
    if wanted > 0.0 && wanted <= 1.0 {
        return Ok(wanted);
    }
    let text = format!("a share of {wanted} is wanted: expected more than 0 and at most 1");
    Err(LabelError::Terms(CardQueueError::Unfit(text)))
}

const DELTA: f64 = 0.05;
const WANTED: f64 = 0.95;
const UNFINISHED: &str =
    "the run has not ended: this is about the answers that were certified when the labels began";
