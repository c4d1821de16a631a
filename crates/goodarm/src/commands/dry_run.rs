//! `goodarm run --dry-run`: what would be asked, what it may cost at most, and what to expect.

use std::fmt::Write as _;

use goodarm_core::{Cost, Role, ServiceId};
use goodarm_live::job::{Job, JobService};
use goodarm_live::run::Run;
use goodarm_live::try_calls::suspicions;
use goodarm_plan::forecast::{self, BillBasis, DesignCost, Forecast};
use goodarm_plan::plan::cut_off;
use goodarm_record::folder::Folder;
use goodarm_record::run_error::RunError;
use goodarm_record::terms::{PeopleTerms, SolverTerms, VerifierTerms};
use goodarm_report::Report;
use goodarm_report::words::{
    about_money, amount, counted, estimate, is_free, money, price, printable, printable_note,
};
use goodarm_sim::plan::{Plan, Purchase, Spread, plan};

use crate::advice;
use crate::commands::{CommandError, notes};
use crate::terminal;

pub(crate) fn show(job: &Job, is_resumed: bool) -> Result<(), CommandError> {
    let unit = job.unit();
    if let Some(file) = Folder::new(&job.settings.output).file_in_the_way() {
        return Err(advice::run(&RunError::OutputIsFile(file.to_owned())));
    }
    let mut text = format!(
        "{}: {}, δ = {}; nothing is called and nothing is written.\n\n",
        job.path.display(),
        parties(job),
        job.settings.delta
    );
    let told = notes(job.candidates.notes());
    if !told.is_empty() {
        text += &told;
        text.push('\n');
    }
    // Answers are made before they are verified.
    let is_generator = |id: &ServiceId| matches!(job.problem.role(*id), Some(Role::Generator(_)));
    let (generators, verifiers): (Vec<_>, Vec<_>) = job.problem.services().partition(is_generator);
    for id in generators.into_iter().chain(verifiers) {
        text += &service(job, id);
    }
    if is_resumed {
        return resumed(job, text);
    }
    let _ = writeln!(
        text,
        "\nIt will spend at most {}: a call starts only if its ceiling still fits the rest of the budget.",
        money(job.settings.budget, unit)
    );
    text += &calls_max(job);
    text += &people(job);
    for suspicion in suspicions(job, &[]) {
        let _ = writeln!(text, "suspicious: {}", printable_note(&suspicion));
    }
    let _ = writeln!(text, "To see real replies: goodarm try {}", job.path.display());
    text += &match job.settings.calls_per_pair {
        Some(calls) => design(job, calls),
        None => forecast(job, &[])?,
    };
    terminal::print(&text);
    Ok(())
}

/// The numbers of candidates, questions and services.
fn parties(job: &Job) -> String {
    let verifiers = counted(job.verifiers().len(), "verifier");
    let Some(questions) = &job.questions else {
        return format!("{}, {verifiers}", counted(job.candidates.len(), "answer"));
    };
    let given = match job.candidates.len() {
        0 => "no given answers".to_owned(),
        count => counted(count, "given answer"),
    };
    let makers = match job.generators().len() {
        0 => String::new(),
        count => format!("{}, ", counted(count, "generator")),
    };
    format!("{}, {given}, {makers}{verifiers}", counted(questions.list.len(), "question"))
}

/// A service: its task, its price at most, and the first request.
fn service(job: &Job, id: ServiceId) -> String {
    let service = job.service(id);
    let (kind, metered, role) = match job.problem.role(id).expect("a service of this job") {
        Role::Verifier(lead) => {
            let terms = &job.terms.verifiers[lead.index()];
            let role = format!("{}{}", thresholds(job, service), subject(job, terms));
            (&terms.kind, terms.metered, role)
        }
        Role::Generator(generator) => {
            let terms = &job.terms.generators()[generator.index()];
            let most = job.terms.questions.as_ref().map_or(0, |it| it.candidates_max);
            let role = format!("makes answers, at most {most} for each question");
            (&terms.kind, terms.metered, role)
        }
    };
    let ceiling = service.tariff.ceiling;
    let expected = service.tariff.expected;
    let most = match metered && !is_free(ceiling) {
        true if expected < ceiling => format!("about {}, at most ", amount(expected, job.unit())),
        true => "at most ".to_owned(),
        false => String::new(),
    };
    let mut text =
        format!("{} ({kind}): {role}, {most}{}\n", service.name, price(ceiling, job.unit()));
    let preview = job.first_subject(id).map(|first| service.preview(&first));
    for line in preview.unwrap_or_default().lines().take(PREVIEW_LINES_MAX) {
        let _ = writeln!(text, "    {}", printable(line));
    }
    text
}

/// The subject of a verifier's calls, if there are questions.
fn subject(job: &Job, terms: &VerifierTerms) -> &'static str {
    match terms.solves {
        _ if job.questions.is_none() => "",
        None => ", asked about one answer at a time",
        Some(SolverTerms { proposes: false }) => {
            ", asked the question: a reply is a vote on all of its answers"
        }
        Some(SolverTerms { proposes: true }) => {
            ", asked the question: a reply is a vote on all of its answers, and an answer itself if it is new"
        }
    }
}

/// The threshold of a verifier, or those of its criteria.
fn thresholds(job: &Job, verifier: &JobService) -> String {
    let members = job.problem.members(verifier.lead).iter();
    let mut thresholds = members.map(|it| job.problem.attribute(*it).threshold);
    if verifier.criteria.is_empty() {
        let one = thresholds.next();
        return one.map_or_else(String::new, |one| format!("threshold {one}"));
    }
    let named = verifier.criteria.iter().zip(thresholds);
    let named: Vec<String> =
        named.map(|(name, one)| format!("{} {one}", printable(name))).collect();
    let noun = if named.len() == 1 { "criterion" } else { "criteria" };
    format!("{} {noun} in one call ({})", named.len(), named.join(", "))
}

/// The most calls, if prices alone do not bound them.
fn calls_max(job: &Job) -> String {
    let is_metered = job.others().any(|verifier| verifier.tariff.is_metered());
    if !is_metered && job.settings.calls_max.is_none() {
        return String::new();
    }
    let (calls, by) = (
        counted(job.calls_max(), "call"),
        match job.settings.calls_max {
            Some(_) => " (calls_max)",
            None => {
                ": a thousand times what the budget pays for at the cheapest ceiling (calls_max sets another limit)"
            }
        },
    );
    format!("It will make at most {calls}, even if calls are free{by}.\n")
}

/// The most cards for people, and the command that shows them.
fn people(job: &Job) -> String {
    let folder = job.settings.output.display().to_string();
    let asked = job.services().filter_map(|called| Some((called, called.service.people()?)));
    let line = |(called, people): (&JobService, &PeopleTerms)| {
        let price = called.tariff.ceiling.picos().max(1);
        let paid_for = u64::try_from(job.settings.budget.picos() / price).unwrap_or(u64::MAX);
        let is_exact = job
            .verifiers()
            .iter()
            .any(|it| it.name == called.name && job.problem.attribute(it.lead).is_exact());
        let most = match job.candidates.len() as u64 {
            count if is_exact && count > 0 => paid_for.min(count),
            _ => paid_for,
        };
        format!(
            "{} is a person: at most {} in all, {} waiting at once, shown by goodarm label {}.\n",
            printable(&called.name),
            counted(most, "card"),
            people.cards_max,
            printable(&folder),
        )
    };
    asked.map(line).collect()
}

/// Prints the state of the run that would be resumed, or why it would be refused.
fn resumed(job: &Job, mut text: String) -> Result<(), CommandError> {
    let refusal = Run::check_resume(job).map_err(|error| advice::run(&error)).err();
    let standing = standing(job).map(|standing| text += &standing);
    terminal::print(&text);
    match refusal.or(standing.err()) {
        Some(error) => Err(CommandError::wrong_input(format!("it would be refused: {error}"))),
        None => Ok(()),
    }
}

/// The state of the run.
fn standing(job: &Job) -> Result<String, CommandError> {
    let folder = Folder::new(&job.settings.output);
    let report = Report::read(folder.path())?;
    let (overview, unit) = (report.overview(), job.unit());
    let gone = overview.money.spent.saturating_add(overview.money.reserved);
    let left = job.settings.budget.saturating_sub(gone);
    let mut text = format!(
        "\n{} holds a run: {} of {} certified, {} spent in {}. Resumed, it may spend {} more; calls that were \
         in flight when it stopped ({}) count as spent.\n",
        folder.path().display(),
        overview.certified,
        counted(overview.candidates, "answer"),
        money(overview.money.spent, unit),
        counted(overview.calls, "call"),
        money(left, unit),
        overview.in_flight - overview.for_people,
    );
    if overview.for_people > 0 {
        let calls = counted(overview.for_people, "call");
        let are = if overview.for_people == 1 { "is" } else { "are" };
        let _ = writeln!(text, "{calls} to people {are} still open; their replies will be used.");
    }
    Ok(text)
}

/// The calls and the cost of a recording.
fn design(job: &Job, calls: u64) -> String {
    let DesignCost { call_max, cost_max } = forecast::design(job, calls);
    let short = if cost_max > job.settings.budget {
        " That may be more than the budget. If the budget runs out, the numbers of calls per pair differ by at most one."
    } else {
        ""
    };
    format!(
        "It makes a recording, and certifies nothing: at most {}, for at most {}.{short}\n",
        counted(call_max, "call"),
        money(cost_max, job.unit()),
    )
}

/// What the budget will buy, with expected bills, or with those that were measured.
pub(crate) fn forecast(job: &Job, measured: &[(ServiceId, Cost)]) -> Result<String, CommandError> {
    let mut forecast = forecast::of_job(job, REPETITIONS);
    forecast.take_bills(job, measured);
    let basis = match measured {
        [] => forecast::bill_basis(job),
        _ => BillBasis::Trial,
    };
    let share_note = forecast.share_note(job);
    let Forecast { mut spec, scale } = forecast;
    spec.calls_max = Some(SIMULATED_CALLS_MAX);
    let plan = plan(&spec)?;
    let Some(purchase) = plan.purchase else { return Ok(String::new()) };
    let Spread { low, median, high } = purchase.spending;
    let spending = [low, median, high].map(|spent| spent * scale);
    let median = purchase.realistic.median * scale;
    let hopeless = if median < 1.0 { hopeless(job, &plan) } else { String::new() };
    let mut bounds = share_note.map_or_else(String::new, |note| format!("{note}.\n"));
    // The cost of certificates is shown only if none is likely.
    if let Some(cut) = plan.cut.as_ref().filter(|cut| cut.of_purchase > 0 || median < 1.0) {
        let _ = writeln!(bounds, "{}", cut_off(cut, &plan));
    }
    let answers = if job.questions.is_some() { "fresh answers" } else { "answers" };
    Ok(format!(
        "If {:.0} % of the {answers} are good, with mean scores by verifier {:?} (the others {:?}), \
         {}, for about {}. {}Set your own estimates in [expect]; `goodarm plan` shows more.\n\
         {bounds}{hopeless}",
        100.0 * forecast::good_share(job),
        forecast::means(job, true),
        forecast::means(job, false),
        outcome(job, &plan, &purchase, scale),
        estimate(spending, job.settings.budget.units(), job.unit()),
        bills(basis),
    ))
}

/// What the expected bills rest on, as a sentence before others; empty if prices are fixed.
pub(crate) fn bills(basis: BillBasis) -> &'static str {
    match basis {
        BillBasis::Prices => "",
        BillBasis::Guess => "Bills are guessed from the prompts; `goodarm try` measures some. ",
        BillBasis::Job => "Bills are as the job expects them. ",
        BillBasis::Recording => "Bills are as recorded. ",
        BillBasis::Trial => "Bills are as in these calls. ",
    }
}

/// How many answers will be certified, or questions answered.
fn outcome(job: &Job, plan: &Plan, purchase: &Purchase, scale: f64) -> String {
    let Spread { low, median, high } = purchase.realistic;
    let is_cut = plan.cut.is_some_and(|cut| cut.of_purchase > 0);
    let about = if is_cut { "at least" } else { "about" };
    let (low, median, high) = (low * scale, median * scale, high * scale);
    let range = format!("({low:.0} to {high:.0} in eight of ten simulated runs)");
    match &job.questions {
        Some(questions) => {
            let all = counted(questions.list.len(), "question");
            format!("{about} {median:.0} of {all} will be answered {range}")
        }
        None => format!("{about} {median:.0} will be certified {range}"),
    }
}

/// What to do about a job that will certify next to nothing.
fn hopeless(job: &Job, plan: &Plan) -> String {
    let unit = job.unit();
    let is_found = plan.steps.first().is_some_and(|step| step.realistic.is_some());
    if job.questions.is_some() && !is_found && plan.cut.is_none() {
        return "In most of these runs no good answer is found at any price. What helps: more answers for each question \
                (candidates_max), a better generator, lower thresholds.\n"
            .to_owned();
    }
    let first = plan.steps.first().and_then(|step| {
        let (least, cost) = match (step.realistic, step.theory) {
            (Some(spread), _) => ("about", spread.median),
            (None, Some(theory)) => ("more than", theory.asymptotic),
            (None, None) => return None,
        };
        let cost = about_money(cost, unit);
        Some(format!(": the first certificate alone takes {least} {cost}"))
    });
    format!(
        "This will certify hardly anything{}, and the budget is {}. What helps: a larger budget, lower thresholds, \
         cheaper or fewer verifiers, a larger delta; `goodarm plan` shows how much.\n",
        first.unwrap_or_default(),
        money(job.settings.budget, unit)
    )
}

const PREVIEW_LINES_MAX: usize = 12;
const REPETITIONS: u64 = 40;
/// A low limit, because a person waits for the forecast.
const SIMULATED_CALLS_MAX: u64 = 4_000_000;
