//! The same figure is the same text, which needs nothing else.

use goodarm_plot::{Figure, svg};

use crate::samples::coinciding;

#[test]
fn the_same_figure_gives_the_same_bytes() {
    assert_eq!(svg(&coinciding()), svg(&coinciding()));
}

#[test]
fn an_svg_describes_itself_and_needs_nothing_else() {
    let text = svg(&coinciding());
    assert!(text.contains(r#"role="img""#));
    assert!(text.contains("<title>t</title>"));
    assert!(text.contains("<desc>c</desc>"));
    let untitled = Figure { title: String::new(), ..coinciding() };
    assert!(svg(&untitled).contains("<title>p</title>"));
    assert_eq!(text.matches("http").count(), 1, "only the name of SVG itself");
}
