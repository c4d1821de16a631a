//! People who answer questions.

use super::*;

fn questions(generator: &str, verifiers: &str) -> JobFolder {
    let place = JobFolder::new(1);
    let line = |index: usize| {
        format!(
            "{{\"id\": \"q{index}\", \"question\": \"What is {index} + 1?\", \"gold\": \"{}\"}}\n",
            index + 1
        )
    };
    place.write("questions.jsonl", &(0..4).map(line).collect::<String>());
    place.write(
        "job.toml",
        &format!(
            "questions = \"questions.jsonl\"\nbudget = 200\ndelta = 0.1\n\
             [generator]\nkind = \"human\"\nask = \"{{{{ question }}}}\"\nhide = [\"gold\"]\n\
             {generator}\n{verifiers}"
        ),
    );
    place
}

fn number_of(card: &Card) -> u64 {
    number(card.id.split('/').next().expect("a question"))
}

#[test]
fn people_answer_questions_and_others_check_what_they_say() {
    let place = questions(
        "extract = \"last-number\"\nanswer_bytes_max = 40",
        "[[verifiers]]\nname = \"right\"\nkind = \"check\"\ncheck = \"equals\"\nfield = \"final_answer\"\nwith = \"gold\"\n\
         [[verifiers]]\nname = \"person\"\nkind = \"human\"\nscores = \"exact\"\nshow = [\"question\", \"answer\"]\n",
    );
    let mut rounds = 0;
    loop {
        let (ending, _) = go_on(&place);
        place.assert_clean();
        if matches!(ending, Ending::Done(_)) {
            break;
        }
        rounds += 1;
        assert!(rounds < 30, "{ending:?}");
        let mut queue = queue(&place);
        for card in queue.upcoming("anna", 99).expect("cards") {
            let number = number_of(&card);
            let said = if card.asks.starts_with("What is") {
                assert!(card.fields.iter().all(|it| it.name != "gold"), "{card:?}");
                for unfit in [
                    CardReply::Answer(" ".into()),
                    CardReply::Answer("9".repeat(41)),
                    CardReply::Right,
                ] {
                    assert!(queue.submit("anna", &card.key, unfit).is_err());
                }
                // The first one that is given to the second question is wrong, and one is not a number.
                CardReply::Answer(match (number, rounds) {
                    (1, 1) => "It is 7.".into(),
                    (2, 1) => "I wonder".into(),
                    _ => format!("It is {}.", number + 1),
                })
            } else {
                let names: Vec<&str> = card.fields.iter().map(|it| it.name.as_str()).collect();
                assert_eq!(names, ["question", "answer"]);
                assert_eq!(card.fields[1].text, format!("It is {}.", number + 1));
                CardReply::Right
            };
            queue.submit("anna", &card.key, said).expect("it waits");
        }
    }
    assert_eq!(place.certified().len(), 4, "{:?}", place.certified());
    place.assert_clean();
}

/// Each answer is a vote as well, and each vote on a question another person's.
#[test]
fn people_vote_for_the_answers_that_they_give() {
    let place = questions("extract = \"last-number\"\nvote = true\nthreshold = 0.3", "");
    for person in 0..40 {
        let person = format!("person {person}");
        let (ending, _) = go_on(&place);
        if matches!(ending, Ending::Done(_)) {
            break;
        }
        let mut queue = queue(&place);
        let mut seen = Vec::new();
        while let Some(card) = queue.next(&person).expect("a queue") {
            assert!(!seen.contains(&card.id), "{person} was asked about {} before", card.id);
            seen.push(card.id.clone());
            let said = CardReply::Answer(format!("{}", number_of(&card) + 1));
            queue.submit(&person, &card.key, said).expect("it waits");
        }
    }
    go_on(&place);
    assert!(!place.certified().is_empty());
    place.assert_clean();
}
