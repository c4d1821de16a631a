//! What `docs/reproduction.md` says in numbers, said again from the tables.

use std::fs;

use serde_json::Value;

use super::{Table, number};
use crate::tool::root;

/// The cells of one method in one world along an axis.
struct Line<'a> {
    table: &'a Table,
    world: &'a str,
    method: &'a str,
    axis: &'a str,
    points: &'a [f64],
}

impl Line<'_> {
    fn each(&self, decimals: usize, value: impl Fn(&Value) -> f64) -> String {
        let cell = |&at: &f64| self.table.cell(self.world, self.method, self.axis, at);
        let text = |cell: &Value| format!("{:.decimals$}", value(cell));
        self.points.iter().map(cell).map(text).collect::<Vec<_>>().join(", ")
    }

    fn mean(&self, decimals: usize, quantity: &str) -> String {
        self.each(decimals, |cell| number(&cell[quantity][0]))
    }
}

fn sum(values: &Value) -> f64 {
    match values {
        Value::Array(items) => items.iter().map(sum).sum(),
        Value::Object(items) => items.values().map(sum).sum(),
        one => number(one),
    }
}

/// Panics with all sentences that the page should have and has not.
fn assert_said(sentences: &[String]) {
    let page = fs::read_to_string(root().join("docs/reproduction.md")).expect("the page");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing: Vec<&String> =
        sentences.iter().filter(|sentence| !page.contains(*sentence)).collect();
    assert!(missing.is_empty(), "docs/reproduction.md should say:\n{missing:#?}");
}

const DECOYS: &str = "expensive decoys";

#[test]
fn the_page_has_the_numbers_of_the_synthetic_figures() {
    let coverage = Table::of("synthetic-coverage");
    let points = [16.0, 20.0, 25.0, 35.0];
    let good = |method| {
        let line =
            Line { table: &coverage, world: DECOYS, method, axis: "budget", points: &points };
        line.mean(2, "certified_good")
    };
    assert_eq!(good("BMA-GAI"), good("CB-GAI"));
    let ablation = Table::of("ablation");
    let again = Line {
        table: &ablation,
        world: DECOYS,
        method: "BMA-GAI as printed",
        axis: "budget",
        points: &[16.0, 25.0, 35.0],
    };
    let difficulty = Table::of("synthetic-difficulty");
    let by_scale = |method| {
        ["1.00", "0.90", "0.80", "0.70", "0.60", "0.50"]
            .map(|world| {
                let points = &[90_000.0];
                let line = Line { table: &difficulty, world, method, axis: "budget", points };
                line.mean(2, "certified_good")
            })
            .join(", ")
    };
    assert_said(&[
        format!(
            "BMA-GAI = CB-GAI = {} arms at b = 16, 20, 25, 35; Uniform (equal money) {}; goodarm {}",
            good("BMA-GAI"),
            good("Uniform"),
            good("goodarm")
        ),
        format!(
            "`ablation`, with 60 others, has {} at b = 16, 25, 35",
            again.mean(2, "certified_good")
        ),
        format!("BMA-GAI {}; Uniform {}", by_scale("BMA-GAI"), by_scale("Uniform")),
    ]);
}

#[test]
fn nothing_was_targeted_in_the_papers_experiments() {
    for name in ["synthetic-coverage", "synthetic-difficulty", "allocation", "interaction", "gsm8k"]
    {
        for cell in &Table::of(name).cells {
            assert!(number(&cell["targeted"]) == 0.0, "{name}: {cell}");
        }
    }
}

#[test]
fn the_page_has_the_numbers_of_gsm8k() {
    let table = Table::of("gsm8k");
    let line =
        |method, points| Line { table: &table, world: "GSM8K", method, axis: "budget", points };
    let budgets = [200_000.0, 400_000.0, 600_000.0, 800_000.0];
    let good = |method| line(method, &budgets).mean(1, "certified_good");
    let last = |method, value: &dyn Fn(&Value) -> f64| line(method, &budgets[3..]).each(1, value);
    let of_kind =
        |method, kind: &str| last(method, &|cell: &Value| number(&cell["certified_of_kind"][kind]));
    let right = |method| last(method, &|cell: &Value| number(&cell["certified_right"]));
    for method in ["BMA-GAI", "CB-GAI", "Uniform"] {
        assert_eq!(good(method), "0.0, 0.0, 0.0, 0.0");
    }
    assert_said(&[
        format!(
            "goodarm {} at 0.2, 0.4, 0.6, 0.8 M (by Holm: {}; FDR: {}; an oracle: {})",
            good("goodarm"),
            good("goodarm, Holm"),
            good("goodarm, FDR"),
            good("oracle")
        ),
        format!(
            "goodarm at 0.8 M: {} easy, {} medium, {} hard (FDR: {}, {}, {})",
            of_kind("goodarm", "easy"),
            of_kind("goodarm", "medium"),
            of_kind("goodarm", "hard"),
            of_kind("goodarm, FDR", "easy"),
            of_kind("goodarm, FDR", "medium"),
            of_kind("goodarm, FDR", "hard")
        ),
        format!("right answers: goodarm {}, FDR {}", right("goodarm"), right("goodarm, FDR")),
    ]);
}

#[test]
fn the_page_has_the_numbers_of_the_appendix() {
    let allocation = Table::of("allocation");
    let percent = |method, kind: &str| {
        let cell = allocation.cell(DECOYS, method, "budget", 12.0);
        let share = match kind {
            "" => sum(&cell["spent_share"]),
            kind => sum(&cell["spent_share"][kind]),
        };
        format!("{:.0} %", 100.0 * share)
    };
    let (cheap, dear) = ("good, cheap to certify", "good, expensive to certify");
    let interaction = Table::of("interaction");
    let at_prices = |panel: &str, method, value: &dyn Fn(&Value) -> String| {
        ["4", "16", "40"]
            .map(|price| {
                let world = format!("{panel} {price}");
                value(interaction.cell(&world, method, "budget", 12.0))
            })
            .join(", ")
    };
    let wasted = |cell: &Value| format!("{:.2}", number(&cell["spent_share"]["bad"][3]));
    let good = |cell: &Value| format!("{:.2}", number(&cell["certified_good"][0]));
    for panel in ["cheap", "costly"] {
        assert_eq!(at_prices(panel, "BMA-GAI", &wasted), at_prices(panel, "CB-GAI", &wasted));
    }
    assert_said(&[
        format!("`allocation`: {} on bad arms", percent("Uniform", "bad")),
        format!(
            "BMA-GAI = CB-GAI: {} on bad arms, {} and {} on the two groups of good ones; goodarm \
             certifies all six for {} of the budget, {} of the budget on bad arms",
            percent("BMA-GAI", "bad"),
            percent("BMA-GAI", cheap),
            percent("BMA-GAI", dear),
            percent("goodarm", ""),
            percent("goodarm", "bad")
        ),
        format!("(a): both {} of the budget", at_prices("cheap", "BMA-GAI", &wasted)),
        format!(
            "(b): both {}; goodarm {}",
            at_prices("costly", "BMA-GAI", &wasted),
            at_prices("costly", "goodarm", &wasted)
        ),
        format!(
            "(b): {} of the budget; {} arms against {} of BMA-GAI",
            at_prices("costly", "Uniform", &wasted),
            at_prices("costly", "Uniform", &good),
            at_prices("costly", "BMA-GAI", &good)
        ),
    ]);
}

#[test]
fn the_page_has_the_numbers_of_smaller_constants() {
    let table = Table::of("constant");
    let value = |world, method, quantity| {
        let line = Line { table: &table, world, method, axis: "budget", points: &[8.0] };
        line.mean(2, quantity)
    };
    let good = |method| value(DECOYS, method, "certified_good");
    let targeted = |method| {
        let most = [4.0, 8.0, 12.0, 16.0, 25.0, 35.0]
            .map(|budget| number(&table.cell(DECOYS, method, "budget", budget)["targeted"]));
        format!("{:.0} %", 100.0 * most.into_iter().fold(0.0, f64::max))
    };
    assert_said(&[
        format!(
            "with 1 up to {} of the pulls are targeted, with 0.2 up to {}",
            targeted("BMA-GAI, 1"),
            targeted("BMA-GAI, 0.2")
        ),
        format!(
            "Coverage at b = 8 then rises from {} to {} and {} of six",
            good("BMA-GAI, 8 (as printed)"),
            good("BMA-GAI, 1"),
            good("BMA-GAI, 0.2")
        ),
        format!(
            "(\"crossed\": {} against {} with 1, {} against {} with 0.2 at b = 8)",
            value("crossed", "BMA-GAI, 1", "certified_good"),
            value("crossed", "CB-GAI, 1", "certified_good"),
            value("crossed", "BMA-GAI, 0.2", "certified_good"),
            value("crossed", "CB-GAI, 0.2", "certified_good")
        ),
    ]);
}

#[test]
fn the_page_has_the_numbers_beyond_the_paper() {
    let ablation = Table::of("ablation");
    let parts = |method| {
        let points = &[1.0, 2.0, 3.0, 8.0, 16.0];
        let line = Line { table: &ablation, world: DECOYS, method, axis: "budget", points };
        line.mean(2, "certified_good")
    };
    let delta = Table::of("delta");
    let median = |method| {
        let points = &[1e-2, 1e-8, 1e-40, 1e-160];
        let line = Line { table: &delta, world: DECOYS, method, axis: "delta", points };
        let unit = |cell: &Value| DECOYS_COMPLEXITY * -number(&cell["delta"]).ln();
        line.each(2, |cell| number(&cell["cost_of_all_median"]) / unit(cell))
    };
    let errors = Table::of("error-rates");
    let wrong = |method| {
        let points = &[0.02, 0.05, 0.1, 0.2, 0.4];
        let line = Line { table: &errors, world: "all null", method, axis: "delta", points };
        line.each(1, |cell| 100.0 * number(&cell["any_wrong"][0]))
    };
    assert_eq!(wrong("union"), wrong("count-Holm"));
    assert_eq!(wrong("paper"), "0.0, 0.0, 0.0, 0.0, 0.0");
    let concurrency = Table::of("concurrency");
    let calls = |method, calls| {
        let points = &[calls];
        let world = "GSM8K-like";
        let line = Line { table: &concurrency, world, method, axis: "concurrency", points };
        line.mean(1, "certified_good")
    };
    let limited = "goodarm, 2 % in flight (default)";
    assert_said(&[
        format!(
            "as printed {}; its allocation with tight certificates {}; `rcb` with its certificate {}; \
             both, by Holm, {}; with lent shares {}; an oracle that is told the means {}, and by Holm {}",
            parts("BMA-GAI as printed"),
            parts("tight certificates alone"),
            parts("rcb alone"),
            parts("goodarm, Holm (both)"),
            parts("goodarm (and lent shares)"),
            parts("oracle"),
            parts("oracle, Holm")
        ),
        format!(
            "as printed {}; goodarm {}, by Holm {}; oracle {}",
            median("BMA-GAI as printed"),
            median("goodarm"),
            median("goodarm, Holm"),
            median("oracle")
        ),
        format!(
            "any wrong certificate in {} % of the trials at δ = 2, 5, 10, 20, 40 % by union and \
             count-Holm, in {} % with lent shares",
            wrong("count-Holm"),
            wrong("lent")
        ),
        format!(
            "{} certified answers one call at a time; {} with up to 256 calls out and the default \
             limit on money in flight, {} without it",
            calls(limited, 1.0),
            calls(limited, 256.0),
            calls("goodarm, no limit", 256.0)
        ),
    ]);
}

/// T* of the expensive decoys.
const DECOYS_COMPLEXITY: f64 = 3663.5;

/// Means of a quantity along budgets, for any world and method.
fn shares<'a>(table: &'a Table, points: &'a [f64]) -> impl Fn(&str, &str) -> String + 'a {
    move |world, method| {
        Line { table, world, method, axis: "budget", points }.mean(3, "certified_share")
    }
}

#[test]
fn the_page_has_the_numbers_of_held_out_worlds() {
    let held_out = Table::of("held-out");
    let share = shares(&held_out, &[0.5, 1.0, 2.0]);
    let early = shares(&held_out, &[0.25, 0.5, 1.0, 2.0]);
    let gaussian = |method| share("Gaussian", method);
    let (few, two) = ("60 arms, few good, prices to 100", "two kinds of answers, binary");
    let both =
        |world| format!("{}, by Holm {}", early(world, "goodarm"), early(world, "goodarm, Holm"));
    let raised = |world| {
        format!(
            "{} against {}",
            share(world, "goodarm, raised from a half"),
            share(world, "goodarm")
        )
    };
    let bills = "bills that differ between answers";
    assert_said(&[
        format!(
            "goodarm {}, by Holm {}; oracle {}, by Holm {}; HDoC with tight certificates {}; LUCB-G {}; \
             equal money {}",
            gaussian("goodarm"),
            gaussian("goodarm, Holm"),
            gaussian("oracle"),
            gaussian("oracle, Holm"),
            gaussian("HDoC, tight certificates"),
            gaussian("LUCB-G, tight certificates"),
            gaussian("equal money, unresolved only")
        ),
        format!(
            "binary scores {}; Beta scores {}; 60 arms of which few are good {}; two kinds of answers {}",
            both("binary"),
            both("Beta"),
            both(few),
            both(two)
        ),
        format!(
            "{bills}: {}; an oracle that knows all means but not the bills {}, by Holm {}",
            both(bills),
            early(bills, "oracle"),
            early(bills, "oracle, Holm")
        ),
        format!(
            "Gaussian {} from the start, binary {}, 60 arms {}",
            raised("Gaussian"),
            raised("binary"),
            raised(few)
        ),
    ]);
}

#[test]
fn the_page_has_the_numbers_of_instances() {
    let discovery = Table::of("discovery");
    let found = shares(&discovery, &[0.25, 0.5, 1.0, 2.0]);
    let of = |world| {
        format!(
            "goodarm {}, by Holm {}, FDR {}, oracle {}",
            found(world, "goodarm"),
            found(world, "goodarm, Holm"),
            found(world, "goodarm, FDR"),
            found(world, "oracle")
        )
    };
    let instances = Table::of("instances");
    let line = |world, method| {
        let points = &[0.5, 1.0, 2.0, 3.0];
        Line { table: &instances, world, method, axis: "budget", points }
    };
    let good = |world| line(world, "goodarm").mean(2, "certified_good");
    let many = |world, method| line(world, method).mean(1, "certified_good");
    let all = |world| {
        format!(
            "goodarm {}; Holm {}; FDR {}; oracle {}",
            many(world, "goodarm"),
            many(world, "goodarm, Holm"),
            many(world, "goodarm, FDR"),
            many(world, "oracle")
        )
    };
    assert_said(&[
        format!(
            "of 2,000: {}; of 10,000: {}",
            of("2,000 arms, 5 % good"),
            of("10,000 arms, 3 % good")
        ),
        format!("A2 {}; A1 {}; A2B {} of six", good("A2"), good("A1"), good("A2B")),
        format!("G (100 answers, 74 good): {}", all("G")),
        format!("L (5,000 answers, 491 good): {}", all("L")),
    ]);
}

/// Questions with a certified answer that is good.
fn good(table: &Table, world: &str, method: &str, points: &[f64]) -> String {
    Line { table, world, method, axis: "budget", points }.mean(1, "certified_good")
}

#[test]
fn the_page_has_the_numbers_of_questions() {
    let invented = Table::of("questions-invented");
    let recorded = [Table::of("questions-gsm8k"), Table::of("questions-gsm8k-votes")];
    let capitals = [Table::of("questions-capitals"), Table::of("questions-capitals-votes")];
    let shared = Table::of("shared-calls");
    let mut said = Vec::new();
    let points = &[2.5e4, 5e4, 1e5, 2e5];
    for (world, price) in [("Beta(2, 1)", 20), ("Beta(0.7, 0.7)", 20), ("Beta(1, 3)", 20)]
        .into_iter()
        .flat_map(|(world, price)| [(world, price), (world, 10 * price)])
    {
        let world = &*format!("{world}, answers at {price}");
        let of = |method| good(&invented, world, method, points);
        said.push(format!(
            "{world}: goodarm {}; one by one {}; best of 1 {}; best of 2 {}; best of 4 {}; best of 8 {}; oracle {}.",
            of("goodarm"),
            of("one by one"),
            of("best of 1"),
            of("best of 2"),
            of("best of 4"),
            of("best of 8"),
            of("oracle")
        ));
    }
    let points = &[2e5, 4e5, 8e5, 1.6e6];
    for (world, name) in [("three verifiers", "Three"), ("two verifiers", "Two")] {
        let of = |method| good(&recorded[0], world, method, points);
        let given = format!("{world}, given");
        let proposed = format!("{world}, proposed");
        said.push(format!(
            "{name} verifiers: goodarm {}; one by one {}; best of 1 {}; best of 4 {}; oracle {}; with each reply compared \
             with all answers, the recorded candidate given {}; answers proposed by the replies {}, and by the union \
             over labels {}.",
            of("goodarm"),
            of("one by one"),
            of("best of 1"),
            of("best of 4"),
            of("oracle"),
            good(&recorded[1], &given, "goodarm", points),
            good(&recorded[1], &proposed, "goodarm", points),
            good(&recorded[1], &proposed, "union", points)
        ));
    }
    let points = &[37_500.0, 75_000.0, 150_000.0, 300_000.0];
    for (world, name) in [("three verifiers", "Three"), ("two verifiers", "Two")] {
        let of = |method| good(&capitals[0], world, method, points);
        let proposed = good(&capitals[1], &format!("{world}, proposed"), "goodarm", points);
        said.push(format!(
            "{name} verifiers: goodarm {}; one by one {}; best of 2 {}; answers proposed by the replies {proposed}.",
            of("goodarm"),
            of("one by one"),
            of("best of 2")
        ));
    }
    let spent = |world, method| {
        let line = Line { table: &shared, world, method, axis: "budget", points: &[1e6] };
        line.mean(0, "spent")
    };
    said.push(format!(
        "goodarm {} and {}, where an answer's criteria are unlike and the hardest one takes most of the calls; {} and {} \
         where they are alike.",
        spent("a call for each criterion", "goodarm"),
        spent("one call for all", "goodarm"),
        spent("alike, a call for each", "goodarm"),
        spent("alike, one call for all", "goodarm")
    ));
    assert_said(&said);
}

/// What labels of a cell claim at δ = 0.05.
fn labelled<'a>(cell: &'a Value, way: &str, share: f64) -> &'a Value {
    let is_asked = |one: &&Value| {
        let near = |key: &str, value: f64| (number(&one[key]) - value).abs() < 1e-9;
        one["way"] == way && near("share", share) && near("delta", 0.05)
    };
    let all = cell["labelled"].as_array().expect("labels");
    all.iter().find(is_asked).unwrap_or_else(|| panic!("{way} {share}"))
}

#[test]
fn the_page_has_the_numbers_of_the_truth() {
    let [biased, labels, boundary, twins] =
        ["truth", "truth-labels", "truth-boundary", "truth-twins"].map(Table::of);
    let mut said = Vec::new();
    for answers in [50, 100, 412, 2000] {
        let mut row = format!("| {answers} |");
        for (share, percent) in [(0.9, 90), (0.95, 95)] {
            let count = |right: u32| {
                let world = format!("{answers} answers, {right} % right");
                let cell = labels.cell(&world, "goodarm", "budget", 10_000.0);
                format!("{:.0}", number(&labelled(cell, "claim", share)["labels"][0]))
            };
            let world = format!("{answers} answers, one below {percent} %");
            let cell = boundary.cell(&world, "goodarm", "budget", 10_000.0);
            let wrong = number(&labelled(cell, "claim", share)["false_claims"][0]);
            let counts = [100, 99, 98].map(count).join(", ");
            row.push_str(&format!(" {counts} | {wrong:.3} |"));
        }
        said.push(row);
    }
    let cell = twins.cell("412 answers, one below 90 %", "goodarm", "budget", 10_000.0);
    let wrong = |way| format!("{:.3}", number(&labelled(cell, way, 0.9)["false_claims"][0]));
    said.push(format!(
        "as it should be done {}, with skips that count as wrong {}, by the formula for a population {}; the right ones first {}, the \
         best of three cards {}, cards put back {}, a fixed interval that is peeked at {}, skips left out {}, tried again \
         {}",
        wrong("claim"),
        wrong("skips-wrong"),
        wrong("endless"),
        wrong("right-first"),
        wrong("best-of-three"),
        wrong("put-back"),
        wrong("peeked"),
        wrong("skips-left-out"),
        wrong("tried-again")
    ));
    for answers in ["1 % wrong", "5 % wrong", "10 % wrong"] {
        let certified = ["guessed 0.5", "guessed 0.9", "calibrated"].map(|thresholds| {
            let world = format!("{answers}, {thresholds}");
            let cell = biased.cell(&world, "goodarm", "budget", 150_000.0);
            let (all, right) =
                (number(&cell["certified_good"][0]), number(&cell["certified_right"]));
            format!("{all:.1} ({:.1} wrong)", all - right)
        });
        said.push(format!("| {answers} | {} |", certified.join(" | ")));
    }
    assert_said(&said);
}
