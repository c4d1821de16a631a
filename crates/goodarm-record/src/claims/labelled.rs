//! The result of a file of labels: claims and valid labels. All reading and adding of lines goes through here, so
//! that a file cannot hold what a queue would have refused.

use std::collections::HashMap;

use goodarm_core::Claim;
use goodarm_core::claim::UpperClaim;
use goodarm_core::units::ErrorRate;
use goodarm_files::person;
use goodarm_files::words::counted;

use super::line::{CardLabel, ClaimStarted, LabelLine, LabelUndone, LabelsAdded};
use super::{LABELLERS_MAX, LABELS_PER_CARD_MAX, NAME_BYTES_MAX};
use crate::card_queue::{CardQueueError, CardReply};

/// All claims of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// The number of lines.
    pub(crate) line_count: usize,
    /// The claims in order; people label the last one.
    pub(crate) claims: Vec<LabelledClaim>,
}

/// One claim with its labels.
#[derive(Clone, Debug)]
pub(crate) struct LabelledClaim {
    pub(crate) begun: ClaimStarted,
    pub(crate) error_rate: ErrorRate,
    pub(crate) labellers: Vec<Labeller>,
    /// Labels that were undone.
    pub(crate) undone_count: usize,
    places: HashMap<String, usize>,
    /// The valid labels of each card, with the index of the labeller.
    cards: Vec<Vec<(usize, CardReply)>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Labeller {
    /// As it was first written.
    pub(crate) name: String,
    /// The form of the name that identifies the person.
    person: String,
    /// The cards that they have labelled, in order.
    pub(crate) given: Vec<usize>,
    /// The index of a card. No card before it waits for this labeller.
    cursor: usize,
}

impl Claims {
    /// Takes all lines of a file; an error has the number of its line, counted from 1.
    pub(crate) fn new(lines: &[LabelLine]) -> Result<Self, (u64, CardQueueError)> {
        let mut labels = Self::default();
        for (line, number) in lines.iter().zip(1..) {
            labels.take(line).map_err(|error| (number, error))?;
        }
        Ok(labels)
    }

    /// Checks whether a line can be taken.
    pub(crate) fn check(&self, line: &LabelLine) -> Result<(), CardQueueError> {
        let last = || self.claims.last().ok_or_else(|| unfit("no claim has begun".into()));
        match line {
            LabelLine::Started(begun) => LabelledClaim::new(begun, &self.claims).map(drop),
            LabelLine::Added(given) => last()?.in_turn(given).map(drop),
            LabelLine::Undone(undone) => last()?.undoable(undone).map(drop),
        }
    }

    /// Takes a line, or changes nothing.
    pub(crate) fn take(&mut self, line: &LabelLine) -> Result<(), CardQueueError> {
        match line {
            LabelLine::Started(begun) => {
                let mut labelled = LabelledClaim::new(begun, &self.claims)?;
                labelled.carry_over(&self.claims);
                self.claims.push(labelled);
            }
            LabelLine::Added(given) => self.last_mut()?.give(given)?,
            LabelLine::Undone(undone) => self.last_mut()?.undo(undone)?,
        }
        self.line_count += 1;
        Ok(())
    }

    /// The sum of the deltas of all claims: the probability that any of them is ever false is at most this.
    pub(crate) fn delta(&self) -> f64 {
        self.claims.iter().map(|claim| claim.begun.delta).sum()
    }

    /// All claims and the one that this line begins, without any label of it.
    pub(crate) fn with_blank(&self, begun: &ClaimStarted) -> Result<Self, CardQueueError> {
        let mut all = self.clone();
        all.claims.push(LabelledClaim::new(begun, &self.claims)?);
        Ok(all)
    }

    fn last_mut(&mut self) -> Result<&mut LabelledClaim, CardQueueError> {
        self.claims.last_mut().ok_or_else(|| unfit("no claim has begun".into()))
    }
}

impl LabelledClaim {
    fn new(begun: &ClaimStarted, earlier: &[Self]) -> Result<Self, CardQueueError> {
        let expected = earlier.len() + 1;
        if begun.claim != expected {
            return Err(unfit(format!("claim {} where claim {expected} should be", begun.claim)));
        }
        let error_rate = ErrorRate::new(begun.delta)
            .map_err(|_| unfit(format!("delta is {}, not between 0 and 1", begun.delta)))?;
        let sum = begun.delta + earlier.iter().map(|claim| claim.begun.delta).sum::<f64>();
        if sum >= 1.0 {
            return Err(unfit(format!("the deltas of all claims come to {sum}, not less than 1")));
        }
        if let Some(before) = earlier.last().map(|claim| &claim.begun)
            && begun.delta > before.delta / 2.0
        {
            return Err(unfit(format!(
                "delta {} for claim {expected}: at most {} is left, half of the delta of claim {}",
                begun.delta,
                before.delta / 2.0,
                before.claim
            )));
        }
        let labels = begun.labels_per_card;
        if !(1..=LABELS_PER_CARD_MAX).contains(&labels) {
            return Err(unfit(format!(
                "{} for each answer, not between 1 and {LABELS_PER_CARD_MAX}",
                counted(labels, "label")
            )));
        }
        if begun.order.is_empty() {
            return Err(unfit("the claim is about no answer".into()));
        }
        let mut places = HashMap::with_capacity(begun.order.len());
        for (place, id) in begun.order.iter().enumerate() {
            if places.insert(id.clone(), place).is_some() {
                return Err(unfit(format!("{id:?} is in the order twice")));
            }
        }
        Ok(Self {
            error_rate,
            labellers: Vec::new(),
            undone_count: 0,
            places,
            cards: vec![Vec::new(); begun.order.len()],
            begun: begun.clone(),
        })
    }

    /// Takes what people said about the same answers in earlier claims, so that nobody is asked again. Labels do not
    /// depend on the order, so this claim may use them: each counts when its turn in the new order comes. Of more labels
    /// than an answer needs, those that do not say right are taken.
    fn carry_over(&mut self, earlier: &[Self]) {
        for place in 0..self.size() {
            let mut known: Vec<(&Labeller, &CardReply)> = Vec::new();
            for claim in earlier.iter().rev() {
                let labels = claim.places.get(self.id(place)).map(|&at| claim.cards[at].as_slice());
                for (by, said) in labels.unwrap_or_default() {
                    let by = &claim.labellers[*by];
                    // The last label of each person.
                    if !known.iter().any(|(other, _)| other.person == by.person) {
                        known.push((by, said));
                    }
                }
            }
            known.sort_by_key(|(_, said)| **said == CardReply::Right);
            for (by, said) in known.into_iter().take(self.begun.labels_per_card) {
                let who = self.who_or_new(&by.name);
                self.cards[place].push((who, said.clone()));
                self.labellers[who].given.push(place);
            }
        }
    }

    pub(crate) const fn size(&self) -> usize {
        self.begun.order.len()
    }

    /// The answer at a place of the order.
    pub(crate) fn id(&self, place: usize) -> &str {
        &self.begun.order[place]
    }

    pub(crate) fn is_about(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// The cards from this place on that wait for a person, in order.
    fn waiting(&self, name: &str, from: usize) -> impl Iterator<Item = usize> + '_ {
        let who = self.who(name);
        let is_own = move |(labeller, _): &(usize, CardReply)| Some(*labeller) == who;
        let waits = move |place: &usize| {
            let labels = &self.cards[*place];
            labels.len() < self.begun.labels_per_card && !labels.iter().any(is_own)
        };
        (from..self.cards.len()).filter(waits)
    }

    /// The cards that wait for a person, in order.
    pub(crate) fn upcoming(&self, name: &str) -> impl Iterator<Item = usize> + '_ {
        let from = self.who(name).map_or(0, |who| self.labellers[who].cursor);
        self.waiting(name, from)
    }

    /// A person's label of a card.
    pub(crate) fn said(&self, name: &str, place: usize) -> Option<&CardReply> {
        let who = self.who(name)?;
        self.cards[place].iter().find(|(labeller, _)| *labeller == who).map(|(_, said)| said)
    }

    /// The last card that a person has labelled.
    pub(crate) fn last_of(&self, name: &str) -> Option<usize> {
        self.labellers[self.who(name)?].given.last().copied()
    }

    fn who(&self, name: &str) -> Option<usize> {
        let person = person(name);
        self.labellers.iter().position(|labeller| labeller.person == person)
    }

    fn who_or_new(&mut self, name: &str) -> usize {
        self.who(name).unwrap_or_else(|| {
            let (name, person) = (name.to_owned(), person(name));
            self.labellers.push(Labeller { name, person, given: Vec::new(), cursor: 0 });
            self.labellers.len() - 1
        })
    }

    /// The places of these cards. Refused unless each is the person's next card when its turn comes.
    fn in_turn(
        &self,
        LabelsAdded { by: name, labels, .. }: &LabelsAdded,
    ) -> Result<Vec<usize>, CardQueueError> {
        check_name(name).map_err(unfit)?;
        if labels.is_empty() {
            return Err(unfit("no labels".into()));
        }
        let is_unfit =
            |label: &&CardLabel| matches!(label.said, CardReply::Score(_) | CardReply::Answer(_));
        if let Some(CardLabel { key, .. }) = labels.iter().find(is_unfit) {
            return Err(unfit(format!("{key:?}: expected right, wrong or skip")));
        }
        if self.who(name).is_none() && self.labellers.len() == LABELLERS_MAX {
            return Err(unfit(format!("more than {LABELLERS_MAX} people have labelled this")));
        }
        let mut waiting = self.upcoming(name);
        let place_of = |label: &CardLabel| {
            let place = self.places.get(&label.key).copied();
            let place = place.ok_or_else(|| CardQueueError::Unknown(label.key.clone()))?;
            let next = waiting.next();
            if next == Some(place) {
                return Ok(place);
            }
            let key = label.key.clone();
            let is_own = |(labeller, _): &&(usize, CardReply)| Some(*labeller) == self.who(name);
            let labels = &self.cards[place];
            let full = || labels.first().filter(|_| self.is_done(place));
            match (labels.iter().find(is_own).or_else(full), next) {
                (Some(&(by, _)), _) => {
                    Err(CardQueueError::Doubled { key, by: self.labellers[by].name.clone() })
                }
                (None, Some(next)) if place > next => {
                    Err(CardQueueError::OutOfOrder { key, next: self.id(next).to_owned() })
                }
                // The card is in the same batch twice.
                _ => Err(CardQueueError::Doubled { key, by: name.to_owned() }),
            }
        };
        labels.iter().map(place_of).collect()
    }

    fn give(&mut self, given: &LabelsAdded) -> Result<(), CardQueueError> {
        let places = self.in_turn(given)?;
        let LabelsAdded { by, labels, .. } = given;
        let who = self.who_or_new(by);
        for (&place, label) in places.iter().zip(labels) {
            self.cards[place].push((who, label.said.clone()));
            self.labellers[who].given.push(place);
            self.labellers[who].cursor = place + 1;
        }
        Ok(())
    }

    /// The labeller and the card of a label that can be undone.
    fn undoable(
        &self,
        LabelUndone { by, key, .. }: &LabelUndone,
    ) -> Result<(usize, usize), CardQueueError> {
        let last = self.who(by).and_then(|who| Some((who, *self.labellers[who].given.last()?)));
        last.filter(|(_, place)| self.id(*place) == key)
            .ok_or_else(|| unfit(format!("{key:?} is not the last that {by:?} has labelled")))
    }

    fn undo(&mut self, undone: &LabelUndone) -> Result<(), CardQueueError> {
        let (who, place) = self.undoable(undone)?;
        self.labellers[who].given.pop();
        self.cards[place].retain(|(labeller, _)| *labeller != who);
        // The card may now wait for other people again.
        for labeller in &mut self.labellers {
            labeller.cursor = labeller.cursor.min(place);
        }
        self.undone_count += 1;
        Ok(())
    }

    fn is_done(&self, place: usize) -> bool {
        self.cards[place].len() == self.begun.labels_per_card
    }

    /// How many cards have all their labels.
    pub(crate) fn done_count(&self) -> usize {
        (0..self.size()).filter(|&place| self.is_done(place)).count()
    }

    /// The number of valid labels.
    pub(crate) fn label_count(&self) -> usize {
        self.labellers.iter().map(|labeller| labeller.given.len()).sum()
    }

    /// The labels of the cards that count: all cards before the first that lacks a label.
    fn counting(&self) -> impl Iterator<Item = &[(usize, CardReply)]> {
        let is_done = |labels: &&[(usize, CardReply)]| labels.len() == self.begun.labels_per_card;
        self.cards.iter().map(Vec::as_slice).take_while(is_done)
    }

    /// The verdict on each card that counts, in order.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = CardReply> {
        self.counting().map(verdict)
    }

    /// The number of counting cards with different labels.
    pub(crate) fn disagreement_count(&self) -> usize {
        let differ = |labels: &&[(usize, CardReply)]| labels.iter().any(|it| it.1 != labels[0].1);
        self.counting().filter(differ).count()
    }

    /// What the valid labels prove. It depends only on the labels, not on when it is computed.
    pub(crate) fn claim(&self) -> Claim {
        let mut claim = Claim::new(self.size(), self.error_rate);
        for verdict in self.verdicts() {
            claim.take(verdict == CardReply::Right).expect("no answer has two places");
        }
        claim
    }

    /// At most this many answers are right, by the same labels. An answer that people could not tell may be right.
    pub(crate) fn at_most(&self) -> usize {
        let mut claim = UpperClaim::new(self.size(), self.error_rate);
        for verdict in self.verdicts() {
            claim.take(verdict == CardReply::Wrong).expect("no answer has two places");
        }
        claim.bound()
    }
}

/// The verdict on a card: wrong if at least one label is wrong, right if all are right, else skipped.
fn verdict(labels: &[(usize, CardReply)]) -> CardReply {
    let has = |wanted: CardReply| labels.iter().any(|(_, said)| *said == wanted);
    if has(CardReply::Wrong) {
        CardReply::Wrong
    } else if has(CardReply::Skip) {
        CardReply::Skip
    } else {
        CardReply::Right
    }
}

/// Checks a labeller's name.
fn check_name(name: &str) -> Result<(), String> {
    if person(name).is_empty() {
        return Err("a labeller needs a name".into());
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("a name of {} bytes, more than {NAME_BYTES_MAX}", name.len()));
    }
    Ok(())
}

fn unfit(text: String) -> CardQueueError {
    CardQueueError::Unfit(text)
}
