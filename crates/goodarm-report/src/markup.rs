//! All HTML: templates of `web/`, filled in by minijinja, which escapes every text. Only text marked with
//! [`own`] is not escaped.
//!
//! Escaping is left to a library and not to our own code, because a single text without it could execute a script.

use minijinja::{Environment, HtmlEscape, UndefinedBehavior, Value};

/// The style of pages without scripts.
pub const SHEET_STYLE: &str = include_str!("../web/sheet/style.css");

/// The template of a page.
pub struct PageTemplate(pub &'static str);

impl PageTemplate {
    /// The report of a run.
    pub(crate) const REPORT: Self = Self(include_str!("../web/report/page.html"));
    /// The live page of a run in progress.
    pub(crate) const WATCH: Self = Self(include_str!("../web/watch/page.html"));
    /// The page on which people label cards.
    pub(crate) const LABEL: Self = Self(include_str!("../web/label/page.html"));

    /// The page with these values.
    pub fn fill(&self, values: Value) -> String {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_filter("prose", prose);
        // The ending `.html` turns escaping on.
        let page = environment.render_named_str("page.html", self.0, values);
        page.unwrap_or_else(|error| panic!("a template cannot be filled in: {error:#}"))
    }
}

/// Our own markup, or text that is escaped already: it is not escaped again.
pub fn own(markup: impl Into<String>) -> Value {
    Value::from_safe_string(markup.into())
}

/// Text as markup; the parts between backticks become code.
fn prose(text: &str) -> Value {
    let part = |(index, part): (usize, &str)| match index % 2 {
        1 => format!("<code>{}</code>", HtmlEscape(part)),
        _ => HtmlEscape(part).to_string(),
    };
    own(text.split('`').enumerate().map(part).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(prose("a `<b>` c").as_str(), Some("a <code>&lt;b&gt;</code> c"));
        let hostile = "</title><script>'\"&{{ style }}";
        let values = minijinja::context! { style => own("a > b"), script => hostile };
        let page = PageTemplate::WATCH.fill(values);
        assert!(page.contains("<style>a > b</style>"), "{page}");
        assert!(page.contains("&lt;script&gt;&#x27;&quot;&amp;{{ style }}"), "{page}");
        assert!(!page.contains(hostile), "{page}");
    }
}
