//! What a run waits for.

use super::place::Place;

fn waiting(person: &str) -> Place {
    let place = Place::new();
    let job = "candidates = \"answers.jsonl\"\nbudget = 100\nunit = \"dollars\"\ndelta = 0.1\nseed = 1\n\
        [[verifiers]]\nname = \"expert\"\nkind = \"human\"\nprice = 2\nask = \"Is this sum right?\"\n";
    place.run(&format!("{job}{person}\n"), &["--again", "--no-wait", "--quiet"]);
    place
}

#[test]
fn cards_that_a_run_waits_for_come_first_and_the_run_goes_on_with_what_was_said() {
    let place = waiting("scores = \"exact\"");
    assert!(place.label(&["--status"]).contains("20 answers wait for a person"));
    let told = place.typed(&["--by", "anna"], "r\nr\nu\nw\nq\n");
    assert!(told.contains("Is this sum right?"), "{told}");
    assert!(told.contains("nothing that could be taken back"), "{told}");
    assert!(place.label(&["--status"]).contains("17 answers wait"), "three are answered");
    let cards = place.path("cards.csv");
    place.label(&["--export", &cards]);
    let sheet = place.read("cards.csv");
    assert!(sheet.starts_with("place,id,key,asks,"), "{sheet}");
    // Nothing is fixed about their order: the first row is left out.
    let rows: Vec<String> = sheet.lines().skip(2).map(|row| format!("{row}right\n")).collect();
    let header = sheet.lines().next().expect("a header");
    let file = place.write("filled.csv", &format!("{header}\n{}", rows.concat()));
    let told = place.label(&["--import", &file, "--by", "bo"]);
    assert!(told.starts_with("16 labels taken\n"), "{told}");
    let again = place.label(&["--import", &file, "--by", "bo"]);
    assert!(again.starts_with("0 labels taken, 16 rows known before\n"), "{again}");
    place.typed(&["--by", "bo"], "s\n");
    let job = place.read("job.toml");
    place.run(&job, &["--resume", "--no-wait", "--quiet"]);
    assert_eq!(place.read("run/certified.jsonl").lines().count(), 18);
    place.assert_clean();
    // Nothing waits any more, so it is about the claim.
    assert_eq!(place.label(&["--status"]), "nobody has labelled yet\n");
    assert!(place.label(&["--status", "--people"]).contains("0 answers wait"));
}

#[test]
fn scores_are_typed_as_numbers() {
    let place = waiting("scores = \"bounded\"\nthreshold = 0.5");
    let told = place.typed(&["--by", "anna"], "7\nright\n0.75\ns\n");
    assert_eq!(told.matches("expected a number from 0 to 1, or skip").count(), 2, "{told}");
    let replies = place.read("run/replies.jsonl");
    assert!(replies.contains("{\"score\":0.75}") && replies.contains("\"skip\""), "{replies}");
}
