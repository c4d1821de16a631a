//! What a job says about people.

use super::*;

fn refusal(person: &str) -> String {
    place(person).job().err().map_or_else(|| panic!("{person} is taken"), |it| it.to_string())
}

#[test]
fn keys_that_mean_nothing_to_a_person_are_refused_with_the_reason() {
    for (key, words) in [
        ("timeout = 60", "all the time there is"),
        ("rate = 1", "nothing is sent"),
        ("retries = 1", "asked once"),
        ("patience = 9", "as long as it takes"),
        ("concurrency = 3", "cards_max"),
        ("scores = { sub-gaussian = { sigma = 0.5 } }", "right or wrong"),
        ("cards_max = 0", "is not between 1 and"),
        ("hide = [\"anwser\"]", "did you mean \"answer\"?"),
        ("show = [\"answer\"]\nhide = [\"question\"]", "either show or hide"),
        ("ask = \"{{ anwser }}\"", "anwser"),
        ("show = [\"gold\"]", "gold"),
        ("role = \"judge\"", "role"),
    ] {
        let job = if key.starts_with("scores") { "price = 2\nthreshold = 0.5" } else { EXACT };
        let error = refusal(&format!("{job}\n{key}"));
        assert!(error.contains(words), "{key}: {error}");
    }
    let error = refusal("scores = \"exact\"");
    assert!(error.contains("price"), "dollars need a price: {error}");
    assert!(refusal("price = 2").contains("threshold"), "and several people a threshold");
    let error = refusal("scores = \"exact\"\nmetered = { second = 1 }");
    assert!(error.contains("fixed price"), "{error}");
}

#[test]
fn a_person_gives_a_number_where_the_scores_have_a_range() {
    let place = place("price = 2\nthreshold = 0.2\nscores = \"bounded\"\nsame_person = true");
    go_on(&place);
    let mut queue = queue(&place);
    let card = queue.next("anna").expect("a queue").expect("a card");
    assert_eq!(card.asks, "How good is this answer?");
    for unfit in [
        CardReply::Score(1.5),
        CardReply::Score(-0.1),
        CardReply::Score(f64::NAN),
        CardReply::Right,
    ] {
        let error =
            queue.submit("anna", &card.key, unfit).expect_err("it does not fit").to_string();
        assert!(error.contains("a score from 0 to 1"), "{error}");
    }
    // The same person may speak again, since the job says so.
    for _ in 0..40 {
        for card in queue.upcoming("anna", 99).expect("cards") {
            queue.submit("anna", &card.key, CardReply::Score(0.9)).expect("it waits");
        }
        if matches!(go_on(&place).0, Ending::Done(_)) {
            break;
        }
    }
    assert!(!place.certified().is_empty());
    place.assert_clean();
}

/// What a session asks for depends on it.
#[test]
fn how_many_cards_may_wait_is_fixed_when_a_run_begins() {
    let place = place(EXACT);
    go_on(&place);
    place.write("job.toml", &cascade(&format!("{EXACT}\ncards_max = 50")));
    let error = Run::resume(place.good_job()).err().expect("it has changed").to_string();
    assert!(error.contains("cards_max"), "{error}");
    // A raised budget is accepted, and people are not asked again.
    place.write("job.toml", &cascade(EXACT).replace("budget = 100", "budget = 300"));
    let asked = cards(&place, "anna");
    go_on(&place);
    assert_eq!(cards(&place, "anna"), asked);
}

#[test]
fn a_question_is_asked_in_the_words_of_the_job() {
    let place = place(&format!(
        "{EXACT}\nask = \"Does {{{{ answer }}}} answer {{{{ question }}}}\"\nshow = [\"question\"]"
    ));
    go_on(&place);
    let card = cards(&place, "anna").remove(0);
    assert_eq!(card.asks, format!("Does right answer Q{}?", number(&card.id)));
    assert_eq!(card.fields.len(), 1);
}

/// A question is read before its answer.
#[test]
fn fields_are_shown_in_the_order_of_the_file() {
    let place = place(EXACT);
    go_on(&place);
    let card = cards(&place, "anna").remove(0);
    let names: Vec<&str> = card.fields.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["question", "answer"]);
}
