//! The page: the report's style and scripts, and one more script that asks for the state of the run.
//! All of it is ours; the texts of answers come later, as JSON, and are shown as text.

use minijinja::context;

use crate::markup::{Template, own};
use crate::report::{STYLE, policy, script};

/// A page, and what it may do.
pub(super) struct Page {
    pub(super) html: String,
    /// Its content security policy.
    pub(super) policy: String,
}

impl Page {
    pub(super) fn new() -> Self {
        let script = script(&SCRIPTS);
        let style = format!("{STYLE}{OWN_STYLE}");
        let policy = policy(&script, &style)
            + "; connect-src 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
        let html = Template::Watch.fill(context! { style => own(style), script => own(script) });
        Self { html, policy }
    }
}

const OWN_STYLE: &str = include_str!("../../web/watch/style.css");
const SCRIPTS: [&str; 3] = [
    include_str!("../../web/watch/live.js"),
    include_str!("../../web/watch/answers.js"),
    include_str!("../../web/watch/start.js"),
];
