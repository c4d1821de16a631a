//! Labels that people give to the certified answers of a run, and what they prove: with a confidence of
//! their own, a lower and an upper bound on the number of right answers.
//!
//! A claim is about the answers that were certified when it began: with its first card. Their order is drawn at random
//! then and written down before anyone sees it, so that people cannot choose. Labels are taken in this order; those
//! before the first gap count, those of earlier claims included. Policies, sessions and books never see them.

pub(crate) mod record;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use goodarm_core::EventError;
use goodarm_data::answer::Extractor;
use goodarm_files::did_you_mean;
use goodarm_files::words::{confidence, counted};

use crate::card_queue::hidden::HiddenFields;
use crate::card_queue::{
    Card, CardQueue, CardQueueError, CardReply, CardStatus, QueueProgress, ReplyForm,
};
use crate::claims::labelled::{Claims, LabelledClaim};
use crate::claims::line::{CardLabel, ClaimStarted, LabelLine, LabelUndone, LabelsAdded};
use crate::claims::order;
use crate::folder::Folder;
use crate::journal::{FolderLock, LockError, unix_millis};
use crate::labels::record::LabelledRun;
use crate::outputs::{self, OutputError};
use crate::reference::extractor_of_job;
use crate::replay::{Balance, Follower, JournalError, Replay};
use crate::sealed_lines::{SealedError, SealedWriter};
use crate::terms::RunTerms;
use crate::view::claim::outlook;
use crate::view::{ClaimView, Overview};

/// The terms of a claim. A term that is `None` is that of the current claim, or the default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClaimTerms {
    /// Error probability of the claim. Default: 0.05; for a later claim half of the previous one's, which is also the
    /// most. The run's own δ is about the verifiers.
    pub delta: Option<f64>,
    /// How many people label each answer, which is right if all of them say so. Default: 1.
    pub labels_per_card: Option<usize>,
    /// The share of right answers to aim for. Default: 0.95. Used only for the outlook.
    pub target_share: Option<f64>,
}

/// Why a run cannot be labelled, or its claim not be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// The journal cannot be read.
    #[error(transparent)]
    Replay(#[from] JournalError),
    /// The candidates cannot be read, or are not those of the run.
    #[error("{0}")]
    Candidates(String),
    /// There is nothing to label.
    #[error("no answer of {} is certified: there is nothing to label yet", .0.display())]
    NothingCertified(PathBuf),
    /// The file of labels cannot be read or written.
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
    /// `labels.jsonl` is older than the summary.
    #[error(
        "{} has {found} lines, but {} was made from {seen}. Put the newer labels.jsonl back",
        labels.display(), summary.display()
    )]
    Older {
        /// The file of labels.
        labels: PathBuf,
        /// The file that was made from more lines.
        summary: PathBuf,
        /// The lines that the summary was made from.
        seen: u64,
        /// The lines in the file of labels.
        found: usize,
    },
    /// The current claim has other terms.
    #[error(
        "claim {claim} already has {key} {theirs}; it cannot be changed to {asked} after labelling began. Omit it, or begin another claim"
    )]
    OtherTerms {
        /// The number of the claim.
        claim: usize,
        /// The name of the term that differs.
        key: &'static str,
        /// The claim's value of the term.
        theirs: String,
        /// The value that was asked for.
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
    /// A claim that begins with its first card. Its order is only in memory, and nobody has seen it.
    staged: Option<StagedClaim>,
    /// `None` if the queue is read-only, or after a failed write, when a line may be half-written.
    writer: Option<SealedWriter>,
    target_share: f64,
    /// A note about the run for the labeller.
    note: Option<&'static str>,
    /// The fields that people do not see, and which of them the answers have.
    hidden: Option<(HiddenFields, Vec<String>)>,
}

/// A claim that has not begun.
struct StagedClaim {
    line: LabelLine,
    /// All claims, with this one.
    labels: Claims,
    /// The same without the labels of earlier claims, whose places in the order nobody may see yet.
    blank: Claims,
}

impl ClaimQueue {
    /// Continues the claim of a run, or prepares the first one, which begins with its first card.
    pub fn open(folder: &Folder, terms: &ClaimTerms) -> Result<Self, LabelError> {
        let (read, mut queue) = Self::read(folder, terms)?;
        match queue.labels.claims.last() {
            Some(last) => check_same_terms(&last.begun, terms)?,
            None => queue.stage(terms, &ClaimTerms::default())?,
        }
        // The file is made only now, so that a folder that cannot be labelled gets none.
        let (writer, lines) = SealedWriter::open::<LabelLine>(&folder.labels())?;
        if lines != read {
            return Err(SealedError::Busy(folder.labels()).into());
        }
        queue.writer = Some(writer);
        Ok(queue)
    }

    /// The claim of a run, read-only: nothing is written or locked. `None` without a claim.
    pub fn open_read_only(folder: &Folder, terms: &ClaimTerms) -> Result<Option<Self>, LabelError> {
        let (_, queue) = Self::read(folder, terms)?;
        let Some(last) = queue.labels.claims.last() else { return Ok(None) };
        check_same_terms(&last.begun, terms)?;
        Ok(Some(queue))
    }

    /// The lines of the file, and the queue without a writer.
    fn read(folder: &Folder, terms: &ClaimTerms) -> Result<(Vec<LabelLine>, Self), LabelError> {
        let target_share = target_share(terms)?;
        let (lines, labels) = record::read(folder)?;
        check_line_count(folder, &labels)?;
        let record = LabelledRun::read(folder, &labels, |balance| balance)?;
        record.check(&labels)?;
        let is_over = folder.seen().is_some_and(|seen| seen == record.mark);
        let note = (!is_over).then_some(UNFINISHED);
        Ok((
            lines,
            Self { record, labels, staged: None, writer: None, target_share, note, hidden: None },
        ))
    }

    /// Prepares another claim, about the answers that are certified by now; it begins with its first card. Its δ is
    /// half of the previous one's unless given; other terms are copied unless given. If no claim has begun, the terms
    /// are those of the first.
    pub fn start_next_claim(&mut self, terms: &ClaimTerms) -> Result<(), LabelError> {
        let target_share = target_share(terms)?;
        let Some(LabelledClaim { begun: before, .. }) = self.labels.claims.last() else {
            self.stage(terms, &ClaimTerms::default())?;
            self.target_share = target_share;
            return Ok(());
        };
        let defaults = ClaimTerms {
            delta: Some(before.delta / 2.0),
            labels_per_card: Some(before.labels_per_card),
            target_share: None,
        };
        self.stage(terms, &defaults)?;
        self.target_share = target_share;
        Ok(())
    }

    /// Hides fields on all cards. Refused if a field that is named is on none.
    pub fn hide(&mut self, hidden: HiddenFields) -> Result<(), LabelError> {
        let (mut found, mut names) = (BTreeSet::new(), BTreeSet::new());
        let everything = HiddenFields { hide: hidden.show.clone(), ..hidden.clone() };
        for id in &self.last().begun.order {
            let [gone, all] = self.record.hidden_fields(id, &hidden);
            found.extend(gone);
            names.extend(all);
            // What is shown would be found if it were hidden.
            names.extend(self.record.hidden_fields(id, &everything)[0].iter().cloned());
        }
        let is_unknown = |name: &&String| !found.contains(*name) && !names.contains(*name);
        if let Some(name) = hidden.hide.iter().chain(&hidden.show).find(is_unknown) {
            let hint = did_you_mean(name, names.iter().map(String::as_str));
            let text = format!("no certified answer has a field {name:?}{hint}");
            return Err(LabelError::Terms(CardQueueError::Unfit(text)));
        }
        self.hidden = Some((hidden, found.into_iter().collect()));
        Ok(())
    }

    /// The claim so far.
    pub fn claim(&self) -> ClaimView {
        let certified = self.record.certified().len();
        ClaimView::new(self.seen(), certified).expect("a queue has a claim")
    }

    /// Whether the claim is about an answer.
    pub fn is_about(&self, id: &str) -> bool {
        self.last().is_about(id)
    }

    /// Prepares the next claim.
    fn stage(&mut self, terms: &ClaimTerms, defaults: &ClaimTerms) -> Result<(), LabelError> {
        let certified = self.record.certified();
        if certified.is_empty() {
            return Err(LabelError::NothingCertified(self.record.folder.path().to_owned()));
        }
        let claim = self.labels.claims.len() + 1;
        // Drawn after the terms are fixed, so that terms cannot be chosen for a lucky order.
        let draw = draw()?;
        let begun = ClaimStarted {
            claim,
            delta: terms.delta.or(defaults.delta).unwrap_or(DELTA),
            labels_per_card: terms.labels_per_card.or(defaults.labels_per_card).unwrap_or(1),
            journal: self.record.mark.clone(),
            order: order::drawn(self.record.terms().seed(), claim, &draw, certified),
            draw,
            unix_millis: unix_millis(),
        };
        let blank = self.labels.with_blank(&begun).map_err(LabelError::Terms)?;
        let line = LabelLine::Started(begun);
        let mut labels = self.labels.clone();
        labels.take(&line).map_err(LabelError::Terms)?;
        self.staged = Some(StagedClaim { line, labels, blank });
        Ok(())
    }

    /// All claims, with one that has not begun.
    fn labels(&self) -> &Claims {
        self.staged.as_ref().map_or(&self.labels, |staged| &staged.labels)
    }

    /// The same, as anyone may see them.
    fn seen(&self) -> &Claims {
        self.staged.as_ref().map_or(&self.labels, |staged| &staged.blank)
    }

    fn last(&self) -> &LabelledClaim {
        self.labels().claims.last().expect("a queue has a claim")
    }

    /// Writes and takes a line; returns when the line is on the disk.
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
        let hidden = self.hidden.as_ref().map(|(hidden, _)| hidden);
        let card = self.record.card(self.last().id(place), hidden);
        card.expect("a claim is about candidates of its run")
    }
}

impl CardQueue for ClaimQueue {
    /// Begins the claim: writes down its order.
    fn begin(&mut self) -> Result<(), CardQueueError> {
        if let Some(StagedClaim { line, .. }) = &self.staged {
            self.write(line.clone())?;
            self.staged = None;
        }
        Ok(())
    }

    fn terms_to_accept(&self) -> Option<Vec<String>> {
        let StagedClaim { blank, .. } = self.staged.as_ref()?;
        let begun = &blank.claims.last()?.begun;
        let (number, sum) = (begun.claim, blank.delta());
        let people = match begun.labels_per_card {
            1 => "1 person labels each card".to_owned(),
            people => {
                format!("{people} people label each card; an answer is right if all of them say so")
            }
        };
        let each = if number == 1 { "Each" } else { "With the claims before it each" };
        let hidden = match &self.hidden {
            Some((_, names)) if !names.is_empty() => {
                format!("Fields that are hidden: {}.", names.join(", "))
            }
            _ => "No field of an answer is hidden.".to_owned(),
        };
        Some(vec![
            format!("Claim {number} is about the {}.", counted(begun.order.len(), "certified answer")),
            format!("Its delta is {}. {each} statement holds with confidence {}, whenever you look.", begun.delta, confidence(sum)),
            format!("{people}. Who cannot tell skips the card, which counts as wrong in the lower bound."),
            hidden,
            "Then the order of the cards is drawn at random, and these terms are fixed. A claim that is given up keeps its delta: another one gets at most half of it, and all statements lose confidence.".to_owned(),
        ])
    }

    fn can_undo(&self, labeller: &str) -> bool {
        self.staged.is_none() && self.last().last_of(labeller).is_some()
    }

    fn extractor(&self, field: &str) -> Option<Extractor> {
        extractor_of_job(&self.record.terms().job, field)
    }

    fn preview(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError> {
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

    fn is_of_run(&self, id: &str) -> bool {
        self.record.has(id)
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
        let by = labeller.to_owned();
        let line = LabelLine::Added(LabelsAdded { by, unix_millis: unix_millis(), labels });
        // Other refusals depend on the order.
        if let Err(error @ CardQueueError::Unfit(_)) = self.labels().check(&line) {
            return Err(error);
        }
        self.begin()?;
        self.write(line)
    }

    fn undo(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError> {
        if self.staged.is_some() {
            return Ok(None);
        }
        let Some(place) = self.last().last_of(labeller) else { return Ok(None) };
        self.write(LabelLine::Undone(LabelUndone {
            by: labeller.to_owned(),
            unix_millis: unix_millis(),
            key: self.last().id(place).to_owned(),
        }))?;
        Ok(Some(self.card(place)))
    }

    fn progress(&mut self) -> Result<QueueProgress, CardQueueError> {
        let labelled = self.seen().claims.last().expect("a queue has a claim");
        let outlook = outlook(&labelled.claim(), self.target_share, labelled.begun.labels_per_card);
        let outlook: Vec<&str> =
            [outlook.as_str()].into_iter().filter(|it| !it.is_empty()).chain(self.note).collect();
        let ClaimView { statement, at_least, at_most, .. } = self.claim();
        Ok(QueueProgress {
            statement,
            outlook: outlook.join("; "),
            done: labelled.done_count(),
            all: labelled.size(),
            at_least: Some(at_least),
            at_most: Some(at_most),
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
    check_line_count(folder, &labels)?;
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

/// Writes the claim of a run that has ended into its summary. A run that is still going writes it itself at
/// its end: then nothing is done, and `None` is returned. The journal is read once. `follower` gets the opening
/// balance and returns the object that receives each entry.
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
    Ok(Some(PublishedClaim { overview, replay: record.replay }))
}

/// Checks that all labels exist that a run's summary was made from: a resumed run would write a summary without the
/// missing ones.
pub fn check_labels_complete(folder: &Folder) -> Result<(), LabelError> {
    match folder.labels_seen() {
        Some(_) => check_line_count(folder, &record::read(folder)?.1),
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

/// Checks that the file has all lines that the summary was made from.
fn check_line_count(folder: &Folder, labels: &Claims) -> Result<(), LabelError> {
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
fn check_same_terms(begun: &ClaimStarted, terms: &ClaimTerms) -> Result<(), LabelError> {
    let differs = |key, theirs: String, asked: Option<String>| match asked {
        Some(asked) if asked != theirs => {
            Err(LabelError::OtherTerms { claim: begun.claim, key, theirs, asked })
        }
        _ => Ok(()),
    };
    differs("delta", begun.delta.to_string(), terms.delta.map(|delta| delta.to_string()))?;
    let labels = terms.labels_per_card.map(|labels| labels.to_string());
    differs("labels a card", begun.labels_per_card.to_string(), labels)
}

fn target_share(terms: &ClaimTerms) -> Result<f64, LabelError> {
    let target_share = terms.target_share.unwrap_or(TARGET_SHARE);
    if target_share > 0.0 && target_share <= 1.0 {
        return Ok(target_share);
    }
    let text = format!("target share {target_share}: expected more than 0 and at most 1");
    Err(LabelError::Terms(CardQueueError::Unfit(text)))
}

const DELTA: f64 = 0.05;
const TARGET_SHARE: f64 = 0.95;
const UNFINISHED: &str =
    "the run has not ended: this is about the answers that were certified when the labels began";
