//! The queue of calls that wait for people, during the run or between its processes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;
use std::{fs, io};

use goodarm_core::{ArmId, CountedFailure, QuestionId, Source, Target, Ticket};
use goodarm_data::candidates::Candidates;
use goodarm_files::person;
use goodarm_files::words::counted;

use super::replies::{HeardReply, LoggedReply, RepliesGiven, RepliesOpened, ReplyLine};
use super::{CardRenderer, Replies, verdict, wanted};
use crate::card_queue::{
    Card, CardQueue, CardQueueError, CardReply, CardStatus, QueueProgress, ReplyForm,
};
use crate::claims::NAME_BYTES_MAX;
use crate::folder::Folder;
use crate::journal::unix_millis;
use crate::replay::Replay;
use crate::reply::Verdict;
use crate::sealed_lines::{SealedError, SealedWriter};
use crate::subjects::Subjects;
use crate::terms::RunTerms;

/// Whether calls of a run are with people: without a reply, or with a reply that the run has not read yet.
pub fn are_asked(folder: &Folder) -> Result<bool, CardQueueError> {
    let mut queue = PeopleQueue::read(folder)?;
    queue.refresh()?;
    Ok(!queue.asked.is_empty())
}

/// Checks that the replies are those of this run, and that none is missing that the run has used: without it, the same
/// person would be asked about the same answer again.
pub fn check_replies(folder: &Folder) -> Result<(), SealedError> {
    let checked = PeopleQueue::read(folder).and_then(|mut queue| match queue.askers.is_empty() {
        true => Ok(()),
        false => queue.refresh(),
    });
    checked.map_err(|error| match error {
        CardQueueError::File(error) => error,
        error => unusable(folder, error.to_string()),
    })
}

/// The calls of a run that wait for people. A queue writes only `replies.jsonl`, so any number of queues may be open
/// during the run.
#[derive(Debug)]
pub struct PeopleQueue {
    folder: Folder,
    terms: RunTerms,
    askers: BTreeMap<usize, CardRenderer>,
    subjects: Option<Subjects>,
    /// Length and modification time of the journal when it was last read.
    seen: Option<(u64, Option<SystemTime>)>,
    /// Calls to people in flight, in the order in which they were asked.
    asked: BTreeMap<Ticket, Asked>,
    /// All calls to people, settled ones included.
    known: BTreeMap<u64, Target>,
    replies: Replies,
    /// The card that each person (not each spelling of a name) sees, so that other people get another one.
    shown: BTreeMap<String, Ticket>,
}

/// A call that waits.
#[derive(Clone, Debug)]
struct Asked {
    target: Target,
    verifier: String,
    id: String,
}

impl PeopleQueue {
    /// The cards of the run in a folder.
    pub fn open(folder: &Folder) -> Result<Self, CardQueueError> {
        let mut queue = Self::read(folder)?;
        if queue.terms.rows().all(|service| service.people.is_none()) {
            let path = folder.path().display();
            return Err(CardQueueError::Folder(format!(
                "{path}: no verifier and no generator of this run is a person (kind = \"human\")"
            )));
        }
        queue.refresh()?;
        Ok(queue)
    }

    fn read(folder: &Folder) -> Result<Self, CardQueueError> {
        let terms = Replay::open(&folder.journal())?.history.terms;
        let id_field = terms.id_field.clone();
        let askers = terms.rows().enumerate().filter_map(|(row, service)| {
            Some((row, CardRenderer::new(service.people?, wanted(&service), &id_field)))
        });
        Ok(Self {
            askers: askers.collect(),
            terms,
            subjects: None,
            seen: None,
            asked: BTreeMap::new(),
            known: BTreeMap::new(),
            replies: Replies::new(folder),
            shown: BTreeMap::new(),
            folder: folder.clone(),
        })
    }

    /// Reads what the run and other queues have written since the last time.
    fn refresh(&mut self) -> Result<(), CardQueueError> {
        self.replies.read_on()?;
        let journal = self.folder.journal();
        let found = fs::metadata(&journal)
            .map_err(|error| CardQueueError::Folder(format!("{}: {error}", journal.display())))?;
        let seen = Some((found.len(), found.modified().ok()));
        if seen == self.seen {
            return Ok(());
        }
        let mut replay = Replay::open(&journal)?;
        let is_peoples = |target| self.askers.contains_key(&self.terms.row(target));
        let mut settled = Vec::new();
        while let Some(entry) = replay.step()? {
            if let Some(call) = entry.call.filter(|call| is_peoples(call.target)) {
                settled.push((call.ticket, call.target));
            }
        }
        let in_flight = replay.history.in_flight().filter(|(_, target)| is_peoples(*target));
        let of_people: Vec<(Ticket, Target)> = in_flight.collect();
        let all = || settled.iter().chain(&of_people);
        let known = all().map(|(ticket, target)| (ticket.0, *target)).collect();
        // Answers made during the run are only in its journal.
        if all().any(|(_, target)| self.id(*target).is_none()) {
            let subjects = Subjects::read(&self.folder, &self.terms);
            self.subjects =
                Some(subjects.map_err(|error| CardQueueError::Folder(error.to_string()))?);
        }
        self.check_used(&settled)?;
        let asked = of_people.into_iter().filter_map(|(ticket, target)| {
            let id = self.id(target)?.to_owned();
            let verifier = self.terms.service(target).name.to_owned();
            Some((ticket, Asked { target, verifier, id }))
        });
        self.asked = asked.collect();
        self.known = known;
        self.seen = seen;
        Ok(())
    }

    /// Checks that each of these calls, which the run has settled, has its reply.
    fn check_used(&mut self, settled: &[(Ticket, Target)]) -> Result<(), SealedError> {
        let lacks_reply = |queue: &Self, &(ticket, target): &(Ticket, Target)| {
            let (verifier, id) = (queue.terms.service(target).name, queue.id(target));
            id.is_none_or(|id| queue.replies.get(ticket, verifier, id).is_none())
        };
        if !settled.iter().any(|call| lacks_reply(self, call)) {
            return Ok(());
        }
        // It may have been given and used since the replies were read.
        self.replies.read_on()?;
        match settled.iter().find(|call| lacks_reply(self, call)) {
            None => Ok(()),
            Some((ticket, _)) => Err(unusable(
                &self.folder,
                format!(
                    "it lacks the reply to call {}, which the run has used: put the newer file back",
                    ticket.0
                ),
            )),
        }
    }

    /// The list and the place in it of the answer or the question of a call, if it is known yet.
    fn place(&self, target: Target) -> Option<(&Candidates, ArmId)> {
        let subjects = self.subjects.as_ref()?;
        let (list, place) = match target {
            Target::Arm(arm, _) => (&*subjects.candidates, arm),
            Target::Question(QuestionId(place), _) => {
                (&subjects.questions.as_ref()?.list, ArmId(place))
            }
        };
        (place.index() < list.len()).then_some((list, place))
    }

    fn id(&self, target: Target) -> Option<&str> {
        self.place(target).map(|(list, place)| list.id(place))
    }

    /// Calls without a reply, the oldest first.
    fn waiting(&self) -> impl Iterator<Item = (Ticket, &Asked)> {
        let is_answered = |ticket: Ticket, asked: &Asked| {
            self.replies.get(ticket, &asked.verifier, &asked.id).is_some()
        };
        let all = self.asked.iter().map(|(ticket, asked)| (*ticket, asked));
        all.filter(move |(ticket, asked)| !is_answered(*ticket, asked))
    }

    /// People who have replied to the same service about the same answer or question already. They cannot be asked
    /// again: they remember, so that their reply is not a fresh call.
    fn spoken<'a>(&'a self, asked: &'a Asked) -> BTreeSet<&'a str> {
        if !self.wants_others(asked.target) {
            return BTreeSet::new();
        }
        // Ignores replies to calls that a power cut has removed from the journal.
        let is_same = |HeardReply { reply, .. }: &&HeardReply| {
            let is_known = self.known.get(&reply.call) == Some(&asked.target);
            is_known && reply.verifier == asked.verifier && reply.id == asked.id
        };
        self.replies.iter().filter(is_same).map(|heard| heard.person.as_str()).collect()
    }

    /// Whether each call needs another person. Generators are exempt: a person may make several answers.
    fn wants_others(&self, target: Target) -> bool {
        let is_vote = !matches!(target, Target::Question(_, Source::Generator(_)));
        let people = self.terms.service(target).people;
        is_vote && people.is_some_and(|people| !people.same_person)
    }

    /// The cards for a person; of several calls that need different people, only one.
    fn cards_for(&self, labeller: &str) -> impl Iterator<Item = (Ticket, &Asked)> {
        let (mut offered, person) = (BTreeSet::new(), person(labeller));
        self.waiting().filter(move |(_, asked)| {
            !self.spoken(asked).contains(person.as_str())
                && (!self.wants_others(asked.target)
                    || offered.insert((asked.verifier.as_str(), asked.id.as_str())))
        })
    }

    fn card(&self, ticket: Ticket, asked: &Asked) -> Option<Card> {
        let row = self.terms.row(asked.target);
        let (list, place) = self.place(asked.target)?;
        Some(self.askers.get(&row)?.card(ticket.0.to_string(), &list.get(place)))
    }

    /// A person's reply to a waiting call, for the file. Refused if the person may not give it.
    fn reply(
        &self,
        labeller: &str,
        key: &str,
        said: CardReply,
    ) -> Result<LoggedReply, CardQueueError> {
        let ticket =
            key.parse().map(Ticket).map_err(|_| CardQueueError::Unknown(key.to_owned()))?;
        let Some(asked) = self.asked.get(&ticket) else {
            let before = self.replies.iter().find(|heard| heard.reply.call == ticket.0);
            return Err(match before {
                Some(HeardReply { by, .. }) => {
                    CardQueueError::Doubled { key: key.to_owned(), by: by.clone() }
                }
                None => CardQueueError::Unknown(key.to_owned()),
            });
        };
        if let Some(heard) = self.replies.get(ticket, &asked.verifier, &asked.id) {
            return Err(CardQueueError::Doubled { key: key.to_owned(), by: heard.by });
        }
        if self.spoken(asked).contains(person(labeller).as_str()) {
            return Err(not_fresh(labeller, asked));
        }
        let service = self.terms.service(asked.target);
        let most = service.people.and_then(|people| people.answer_bytes_max);
        if let Verdict::Failed(CountedFailure::Unreadable, reason) =
            verdict(wanted(&service), most, &said)
        {
            return Err(CardQueueError::Unfit(reason));
        }
        let Asked { verifier, id, .. } = asked.clone();
        Ok(LoggedReply { call: ticket.0, verifier, id, said })
    }
}

impl CardQueue for PeopleQueue {
    /// Prefers a card that no other person sees at the moment.
    fn next(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError> {
        self.refresh()?;
        let person = person(labeller);
        let is_others =
            |ticket: Ticket| self.shown.iter().any(|(by, shown)| *shown == ticket && *by != person);
        let free = self.cards_for(labeller).find(|(ticket, _)| !is_others(*ticket));
        let found = free.or_else(|| self.cards_for(labeller).next());
        let Some((ticket, asked)) = found else {
            self.shown.remove(&person);
            return Ok(None);
        };
        let card = self.card(ticket, asked);
        self.shown.insert(person, ticket);
        Ok(card)
    }

    fn preview(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError> {
        self.refresh()?;
        let cards = self.cards_for(labeller).filter_map(|(ticket, asked)| self.card(ticket, asked));
        Ok(cards.take(most).collect())
    }

    /// Cards with a reply and cards that wait, in the order of the calls.
    fn statuses(&mut self, labeller: &str) -> Result<Vec<CardStatus>, CardQueueError> {
        self.refresh()?;
        let own: BTreeSet<Ticket> = self.cards_for(labeller).map(|(ticket, _)| ticket).collect();
        let labeller = person(labeller);
        let mut places: BTreeMap<u64, CardStatus> = BTreeMap::new();
        for (ticket, asked) in &self.asked {
            let heard = self.replies.get(*ticket, &asked.verifier, &asked.id);
            let place = CardStatus {
                key: ticket.0.to_string(),
                id: asked.id.clone(),
                wanted: wanted(&self.terms.service(asked.target)),
                said: heard.filter(|heard| person(&heard.by) == labeller).map(|heard| heard.said),
                waits: own.contains(ticket),
            };
            places.insert(ticket.0, place);
        }
        for HeardReply { reply, .. } in self.replies.iter().filter(|it| it.person == labeller) {
            let service = self.terms.rows().find(|service| service.name == reply.verifier);
            let Some(service) = service else { continue };
            places.entry(reply.call).or_insert_with(|| CardStatus {
                key: reply.call.to_string(),
                id: reply.id.clone(),
                wanted: wanted(&service),
                said: Some(reply.said.clone()),
                waits: false,
            });
        }
        Ok(places.into_values().collect())
    }

    fn is_of_run(&self, id: &str) -> bool {
        self.subjects.as_ref().is_some_and(|subjects| {
            let questions = subjects.questions.as_ref().map(|questions| &questions.list);
            [Some(&*subjects.candidates), questions]
                .into_iter()
                .flatten()
                .any(|list| list.arm_of(id).is_some())
        })
    }

    fn submit_all(
        &mut self,
        labeller: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError> {
        if person(labeller).is_empty() || labeller.len() > NAME_BYTES_MAX {
            let message = format!("a person needs a name of at most {NAME_BYTES_MAX} bytes");
            return Err(CardQueueError::Unfit(message));
        }
        if said.is_empty() {
            return Ok(());
        }
        // The writer holds the lock, so what is read now is complete.
        let (mut writer, is_new) = open_patiently(&self.folder)?;
        self.refresh()?;
        let mut replies: Vec<LoggedReply> = Vec::new();
        for (key, said) in said {
            let reply = self.reply(labeller, &key, said)?;
            if replies.iter().any(|it| it.call == reply.call) {
                return Err(CardQueueError::Doubled { key, by: labeller.to_owned() });
            }
            let asked = &self.asked[&Ticket(reply.call)];
            let is_same = |it: &LoggedReply| it.verifier == reply.verifier && it.id == reply.id;
            if self.wants_others(asked.target) && replies.iter().any(is_same) {
                return Err(not_fresh(labeller, asked));
            }
            replies.push(reply);
        }
        if is_new {
            let journal = Replay::open(&self.folder.journal())?.mark()?;
            writer.append(&ReplyLine::Opened(RepliesOpened { journal }))?;
        }
        let (by, unix_millis) = (labeller.to_owned(), unix_millis());
        writer.append(&ReplyLine::Given(RepliesGiven { by, unix_millis, replies }))?;
        self.shown.remove(&person(labeller));
        Ok(())
    }

    fn can_undo(&self, _: &str) -> bool {
        false
    }

    /// Undoes nothing: the run reads replies at once.
    fn undo(&mut self, _: &str) -> Result<Option<Card>, CardQueueError> {
        Ok(None)
    }

    fn progress(&mut self) -> Result<QueueProgress, CardQueueError> {
        self.refresh()?;
        let waiting: Vec<&Asked> = self.waiting().map(|(_, asked)| asked).collect();
        let people: BTreeSet<&str> = self.replies.iter().map(|it| it.person.as_str()).collect();
        let is_for_others = |asked: &&&Asked| {
            let spoken = self.spoken(asked);
            !spoken.is_empty() && people.iter().all(|by| spoken.contains(by))
        };
        let for_others = waiting.iter().filter(is_for_others).count();
        let are_questions = waiting
            .iter()
            .all(|asked| wanted(&self.terms.service(asked.target)) == ReplyForm::Answer);
        let done = self.known.len() - waiting.len();
        let what = if are_questions && !waiting.is_empty() { "question" } else { "answer" };
        let wait = if waiting.len() == 1 { "waits" } else { "wait" };
        let were = if done == 1 { "was" } else { "were" };
        let statement =
            format!("{} {wait} for a person; {done} {were} answered", counted(waiting.len(), what));
        let outlook = match for_others {
            0 => String::new(),
            count => format!(
                "{count} of them {} somebody else: everyone who was here has replied about it, and each call needs another person",
                if count == 1 { "wants" } else { "want" }
            ),
        };
        let all = done + waiting.len();
        Ok(QueueProgress { statement, outlook, done, all, ..QueueProgress::default() })
    }
}

fn not_fresh(labeller: &str, Asked { verifier, id, .. }: &Asked) -> CardQueueError {
    CardQueueError::Unfit(format!(
        "{labeller:?} has replied about {id:?} as {verifier:?} before, and each call needs another person (same_person = true in the job allows it)"
    ))
}

fn unusable(folder: &Folder, reason: String) -> SealedError {
    SealedError::File { path: folder.replies(), error: io::Error::other(reason) }
}

/// Opens the file of replies; also returns whether it has no line yet. Tries again while it is locked: another queue holds the lock only for a moment.
fn open_patiently(folder: &Folder) -> Result<(SealedWriter, bool), SealedError> {
    let mut tries = 0;
    loop {
        match SealedWriter::open::<ReplyLine>(&folder.replies()) {
            // Each try waits for half a second.
            Err(SealedError::Busy(_)) if tries < BUSY_TRIES_MAX => tries += 1,
            opened => return opened.map(|(writer, lines)| (writer, lines.is_empty())),
        }
    }
}

const BUSY_TRIES_MAX: u32 = 20;
