//! The one way to HTML: templates of `web/`, filled in by minijinja, which escapes every text that
//! is put into them. Only what is marked with [`own`] is written as it is.
//!
//! A library and not a module of ours, because a place that someone forgets to escape by hand is a
//! place where an answer could run.

use minijinja::{Environment, HtmlEscape, UndefinedBehavior, Value};

/// What the pages for reading share.
pub const SHEET_STYLE: &str = include_str!("../web/sheet/style.css");

/// A page of ours.
pub struct PageTemplate(pub &'static str);

impl PageTemplate {
    /// A run.
    pub(crate) const REPORT: Self = Self(include_str!("../web/report/page.html"));
    /// A run that goes on.
    pub(crate) const WATCH: Self = Self(include_str!("../web/watch/page.html"));
    /// Cards to be labelled.
    pub(crate) const LABEL: Self = Self(include_str!("../web/label/page.html"));

    /// The page with these values.
    pub fn fill(&self, values: Value) -> String {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_filter("prose", prose);
        // The end of the name turns escaping on.
        let page = environment.render_named_str("page.html", self.0, values);
        page.unwrap_or_else(|error| panic!("a template of ours cannot be filled in: {error:#}"))
    }
}

/// Markup of ours, or text that was made harmless before: it is not escaped again.
pub fn own(markup: impl Into<String>) -> Value {
    Value::from_safe_string(markup.into())
}

/// Text as markup, with what stands between backticks as code.
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
