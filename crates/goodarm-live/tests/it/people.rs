//! A person as a verifier: a call waits until a person answers, through stops and crashes of the run.

mod cut;
mod desks;
mod generators;
mod kept;
mod terms;

use std::sync::Arc;

use goodarm_core::Cost;
use goodarm_live::run::Run;
use goodarm_record::card_queue::{Card, CardQueue as _, CardReply};
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::notice::{Notice, Observer};
use goodarm_record::people::PeopleQueue;
use goodarm_record::view::Overview;

use crate::job_folder::JobFolder;

/// A cheap check that some answers pass, and a person who says the last word.
fn cascade(person: &str) -> String {
    format!(
        "candidates = \"answers.jsonl\"\nbudget = 100\nunit = \"dollars\"\ndelta = 0.1\nseed = 1\n\
         [[verifiers]]\nname = \"says right\"\nkind = \"check\"\ncheck = \"regex\"\n\
         pattern = \"right\"\nprice = 0.001\n\
         [[verifiers]]\nname = \"person\"\nkind = \"human\"\n{person}\n"
    )
}

const EXACT: &str = "scores = \"exact\"\nprice = 2";

fn place(person: &str) -> JobFolder {
    let place = JobFolder::new(9);
    place.write("job.toml", &cascade(person));
    place
}

/// Runs or resumes until only people are awaited or all is done.
fn go_on(place: &JobFolder) -> (Ending, Overview) {
    let job = place.good_job();
    let folder = Folder::new(&job.settings.output);
    let mut run =
        if folder.journal().exists() { Run::resume(job) } else { Run::begin(job) }.expect("a run");
    run.set_waits_for_people(false);
    let ending = run.drive(&Control::default(), &mut ()).expect("it continues");
    let overview = run.write_outputs(&ending).expect("outputs");
    (ending, overview)
}

fn queue(place: &JobFolder) -> PeopleQueue {
    PeopleQueue::open(&place.output()).expect("the run has people")
}

fn cards(place: &JobFolder, labeller: &str) -> Vec<Card> {
    queue(place).upcoming(labeller, 100).expect("cards")
}

/// Answers all cards: an answer is right if its number is even.
fn answer_all(place: &JobFolder, labeller: &str) -> usize {
    let mut queue = queue(place);
    let cards = queue.upcoming(labeller, 100).expect("cards");
    for card in &cards {
        queue.submit(labeller, &card.key, verdict(card)).expect("it waits");
    }
    cards.len()
}

fn verdict(card: &Card) -> CardReply {
    if number(&card.id).is_multiple_of(2) { CardReply::Right } else { CardReply::Wrong }
}

fn certified_ids(place: &JobFolder) -> Vec<String> {
    let id = |line: &String| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["id"].as_str().expect("an id").to_owned()
    };
    place.certified().iter().map(id).collect()
}

fn number(id: &str) -> u64 {
    id.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("an id with a number")
}

/// What `work` returns; fails if it blocks.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(std::time::Duration::from_secs(30)).expect("it does not block")
}

#[cfg(unix)]
pub(crate) fn make_pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

/// How many cards wait for a person.
fn waiting(folder: &Folder) -> usize {
    let mut queue = PeopleQueue::open(folder).expect("people are asked");
    let progress = queue.progress().expect("a queue");
    progress.all - progress.done
}

#[test]
fn a_person_is_asked_only_about_answers_that_passed_the_cheap_check() {
    let place = place(EXACT);
    let (ending, overview) = go_on(&place);
    let asked = cards(&place, "anna");
    assert_eq!(ending, Ending::WaitsForPeople { count: asked.len() });
    assert_eq!(overview.for_people, asked.len());
    assert!(!asked.is_empty() && asked.len() < 9, "{}", asked.len());
    for card in &asked {
        assert_eq!(card.asks, "Is this answer right?");
        assert!(card.fields.iter().any(|it| it.text.contains("right")), "{card:?}");
        assert!(card.evidence.is_empty() && card.fields.iter().all(|it| it.name != "id"));
    }
    assert_eq!(waiting(&place.output()), asked.len());
    assert_eq!(overview.money.reserved, Cost::from_units(2 * asked.len() as u64));
    place.assert_clean();

    assert_eq!(answer_all(&place, "anna"), asked.len());
    assert_eq!(waiting(&place.output()), 0);
    let (ending, overview) = go_on(&place);
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!((overview.in_flight, overview.for_people), (0, 0));
    let right = asked.iter().filter(|card| verdict(card) == CardReply::Right);
    let mut right: Vec<String> = right.map(|card| card.id.clone()).collect();
    let mut certified = certified_ids(&place);
    right.sort();
    certified.sort();
    assert_eq!(certified, right);
    assert_eq!(overview.money.reserved, Cost::ZERO);
    place.assert_clean();
}

/// Answers when the run waits, and stops it after this many calls.
struct Answerer<'a> {
    place: &'a JobFolder,
    control: Arc<Control>,
    answers_left: usize,
}

impl Observer for Answerer<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        let Notice::Progress(progress) = notice else { return };
        if progress.overview.for_people == 0 {
            return;
        }
        let mut queue = queue(self.place);
        match queue.next("anna").expect("a queue") {
            Some(card) if self.answers_left > 0 => {
                self.answers_left -= 1;
                queue.submit("anna", &card.key, verdict(&card)).expect("it waits");
            }
            Some(_) if !self.control.is_stopping() => self.control.stop(),
            _ => {}
        }
    }
}

#[test]
fn a_run_hears_people_while_it_goes_on_and_is_stopped_and_goes_on() {
    let place = place(EXACT);
    let all = {
        go_on(&place);
        cards(&place, "anna").len()
    };
    let control = Arc::new(Control::default());
    let mut answerer = Answerer { place: &place, control: Arc::clone(&control), answers_left: 2 };
    let mut run = Run::resume(place.good_job()).expect("a run");
    assert_eq!((run.recovery().lost, run.waiting_for_people()), (0, all));
    let ending = run.drive(&control, &mut answerer).expect("it continues");
    assert_eq!(ending, Ending::Stopped { at_once: false });
    // Unanswered calls stay open, and nothing of them is lost.
    assert_eq!(run.waiting_for_people(), all - 2);
    assert_eq!(run.session().books().in_flight_count(), all - 2);
    run.write_outputs(&ending).expect("outputs");
    drop(run);
    place.assert_clean();
    assert_eq!(cards(&place, "anna").len(), all - 2);
    // Answered while no process runs it.
    answer_all(&place, "bob");
    let control = Arc::new(Control::default());
    let mut answerer = Answerer { place: &place, control, answers_left: 0 };
    let mut run = Run::resume(place.good_job()).expect("a run");
    let ending = run.drive(&Control::default(), &mut answerer).expect("it continues");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    run.write_outputs(&ending).expect("outputs");
    let people = &run.account().services[1].outcomes;
    assert_eq!((people.call_count, people.score_count()), (all as u64, all as u64));
    drop(run);
    place.assert_clean();
}

/// A limit of cards per person, and the budget holds with all of them open.
#[test]
fn other_calls_go_on_while_cards_wait_and_the_budget_holds() {
    let place = JobFolder::new(40);
    let job = cascade("scores = \"exact\"\nprice = 30\ncards_max = 2").replace(
        "[[verifiers]]\nname = \"person\"",
        "[[verifiers]]\nname = \"judge\"\nkind = \"command\"\nscores = \"binary\"\nprice = 0.1\n\
         threshold = 0.5\nshell = 'read line; echo x >> judged; echo 1'\n\
         [[verifiers]]\nname = \"person\"",
    );
    place.write("job.toml", &job.replace("budget = 100", "budget = 200\nconcurrency = 2"));
    let (ending, overview) = go_on(&place);
    assert_eq!(ending, Ending::WaitsForPeople { count: 2 });
    assert_eq!(overview.money.reserved, Cost::from_units(60));
    // 2 % of the money would be two cards a fifteenth each; the judge continues with answers that are not asked.
    let judged = place.read("judged").lines().count();
    assert!(judged > 60, "{judged}");
    let mut most = 0.0_f64;
    for _ in 0..30 {
        let (_, overview) = go_on(&place);
        most = most.max(overview.money.spent.units() + overview.money.reserved.units());
        if answer_all(&place, "anna") == 0 {
            break;
        }
    }
    assert!(most <= 200.0 && most > 150.0, "{most}");
    place.assert_clean();
}

#[test]
fn somebody_who_cannot_tell_counts_as_a_failure_and_ends_no_run() {
    let place = JobFolder::new(30);
    place.write("job.toml", &cascade("scores = \"exact\"\nprice = 2\ncards_max = 30"));
    go_on(&place);
    let mut queue = queue(&place);
    let said: Vec<(String, CardReply)> = queue
        .upcoming("anna", 99)
        .expect("cards")
        .into_iter()
        .map(|card| (card.key, CardReply::Skip))
        .collect();
    assert!(said.len() > 10, "more than a machine may fail at first: {}", said.len());
    queue.submit_all("anna", said.clone()).expect("they wait");
    let (ending, overview) = go_on(&place);
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    let person = &overview.verifiers[1];
    assert_eq!(person.failures["refused"], said.len() as u64);
    let paid = Cost::from_units(2 * said.len() as u64);
    assert_eq!((overview.certified, person.spent), (0, paid));
    place.assert_clean();
}

/// Each call is another person's: a person who remembers does not make a fresh call.
#[test]
fn a_noisy_person_is_several_people() {
    let place = JobFolder::new(2);
    place.write("job.toml", &cascade("price = 2\nthreshold = 0.3"));
    go_on(&place);
    let first = queue(&place).statuses("anna").expect("places");
    assert!(first.len() > cards(&place, "anna").len(), "{first:?}");
    for card in &first {
        let mut queue = queue(&place);
        let is_new = queue.upcoming("anna", 99).expect("cards").iter().any(|it| it.key == card.key);
        assert_eq!(queue.submit("anna", &card.key, CardReply::Right).is_ok(), is_new, "{card:?}");
    }
    let mut desk = queue(&place);
    let standing = desk.progress().expect("it stands");
    assert!(standing.statement.contains("wait for a person"), "{standing:?}");
    assert!(standing.outlook.contains("want somebody else"), "{standing:?}");
    assert_eq!(desk.next("anna").expect("a queue"), None);
    for person in ["bob", "cleo", "dan", "eve", "fay", "gus", "hal", "ida"] {
        let mut queue = queue(&place);
        while let Some(card) = queue.next(person).expect("a queue") {
            queue.submit(person, &card.key, CardReply::Right).expect("it waits");
        }
        go_on(&place);
    }
    let (ending, overview) = go_on(&place);
    assert!(matches!(ending, Ending::Done(_) | Ending::WaitsForPeople { .. }), "{ending:?}");
    assert!(overview.certified >= 1, "{overview:?}");
    place.assert_clean();
}

#[test]
fn a_person_is_taken_once_about_an_answer_in_a_batch_too() {
    let place = place("threshold = 0.5\nprice = 0.5");
    go_on(&place);
    let mut queue = queue(&place);
    let own = queue.upcoming("ann", 100).expect("cards");
    let ids: std::collections::BTreeSet<&str> = own.iter().map(|card| card.id.as_str()).collect();
    assert_eq!(ids.len(), own.len(), "one card for each answer");
    let all = queue.statuses("ann").expect("places");
    let first = &all[0].id;
    let same: Vec<_> = all.iter().filter(|place| place.id == *first).collect();
    assert!(same.len() > 1, "several cards want different people");
    let both = same.iter().map(|place| (place.key.clone(), CardReply::Right)).collect();
    let refused = queue.submit_all("ann", both).expect_err("the second is not fresh");
    assert!(refused.to_string().contains("has replied about"), "{refused}");
    queue.submit("ann", &same[0].key, CardReply::Right).expect("one is");
    queue.submit("ben", &same[1].key, CardReply::Right).expect("another person");
}

#[test]
fn a_run_in_which_all_is_decided_does_not_wait_for_cards_that_are_left() {
    let place = place("threshold = 0.5\nprice = 0.5");
    place.write("answers.jsonl", "{\"id\": \"a0\", \"question\": \"?\", \"answer\": \"right\"}\n");
    for name in 0..40 {
        let (ending, overview) = go_on(&place);
        if let Ending::Done(_) = ending {
            assert_eq!((overview.certified, overview.undecided), (1, 0));
            assert!(overview.in_flight > 0, "cards are left, and the run does not wait for them");
            let report = goodarm_record::audit::audit(place.output().path());
            assert!(report.is_clean(), "{:?}", report.problems);
            return;
        }
        let labeller = format!("reader {name}");
        let card = cards(&place, &labeller).remove(0);
        queue(&place).submit(&labeller, &card.key, CardReply::Right).expect("it waits");
    }
    panic!("40 people are enough");
}
