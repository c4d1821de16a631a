// The words of a page: about answers, or about questions with at most one certified answer each.

const ANSWER_WORDS = { noun: "answer", title: "Answers", alike: "Checking all answers alike", done: "certified", parts: ["certified", "undecided", "rejected"] };
const QUESTION_WORDS = { noun: "question", title: "Questions", alike: "Treating all questions alike", done: "answered", parts: ["answered", "open"] };

const wordsOf = (overview) => (overview.questions ? QUESTION_WORDS : ANSWER_WORDS);

/// The number of answers or questions.
const wholeOf = (overview) => overview.questions?.count ?? overview.candidates;

/// The words after the number of certificates in a headline.
function achieved(overview) {
  return overview.questions ? ` of ${plural(overview.questions.count, "question")} answered with a certified answer` : ` of ${count(overview.candidates)} answers certified`;
}

/// All services: verifiers, then generators, in the order of the numbers in calls.
const servicesOf = (overview) => [...overview.verifiers, ...(overview.questions?.generators ?? [])];

/// The origins and the statuses of the answers to questions.
function triedWords({ questions: { given, made }, certified, undecided, rejected }) {
  const came = made === 0 ? `${plural(given, "answer")} given` : given === 0 ? `${plural(made, "answer")} made` : `${plural(given, "answer")} given and ${count(made)} made`;
  return `${came}: ${count(certified)} certified, ${count(undecided)} undecided, ${count(rejected)} rejected`;
}

/// The texts of a page with questions, instead of those about answers.
const QUESTION_TEXTS = {
  ".skip": "Skip to the table of questions",
  ".top nav a[href='#answers']": "Questions",
  ".top nav a[href='#verifiers']": "Verifiers and generators",
  "#coverage-title": "Answered questions over spend",
  "#coverage .why": "Each step is one more question with a certified answer. A steep start means that the easy questions came first.",
  "#spending .why": "The cost of each verifier and each generator, for answered and for open questions.",
  "#verifiers-title": "Verifiers and generators",
  "#verifiers .why": "An answer is certified when its mean score reaches the threshold of every verifier; at most one answer per question is certified. A verifier that solves questions scores all answers at once: 1 for the one that it gives, 0 for the others. Noise is how often two calls disagree about the same answer.",
  "#answers-title": "All questions",
  "#answers .why": "Below each question is its certified answer. Open a row to see every answer that was tried, and every call.",
};

function useQuestionTexts(texts) {
  for (const [place, text] of Object.entries(texts)) {
    const element = document.querySelector(place);
    if (element && element.textContent !== text) element.textContent = text;
  }
  const filters = byId("filters");
  if (filters) filters.setAttribute("aria-label", "Show questions that are");
}

const QUESTIONS = ["question", "prompt", "problem", "input", "instruction", "task", "query"];
const ANSWERS = ["answer", "response", "output", "completion", "solution", "candidate", "text"];

/// The fields that most likely are the question and the answer.
function asked(fields) {
  const named = (names) => names.map((name) => fields.find((field) => field[0].toLowerCase() === name)).find(Boolean);
  const question = named(QUESTIONS);
  const answer = named(ANSWERS) || fields.find((field) => field !== question);
  return [question?.[1], answer?.[1]];
}
