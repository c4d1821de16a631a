//! `\boxed{}`, and the simple LaTeX inside it.

use super::number;

/// The content of the last `\boxed{}`, cleaned; `None` if its end is cut off.
pub(super) fn last_boxed(text: &str) -> Option<String> {
    let start = text.rfind("\\boxed").map(|at| at + "\\boxed".len())?;
    let inside = braced(text[start..].trim_start())?;
    Some(clean(inside))
}

/// The text between the opening brace at the start and the brace that closes it.
fn braced(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let mut depth = 1;
    let mut is_escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&inside[..at]);
        }
    }
    None
}

/// Removes notation without meaning, so that equal answers look equal.
fn clean(text: &str) -> String {
    let mut text = text.replace("{,}", ",");
    for (noise, meaning) in NOISE {
        if text.contains(noise) {
            text = text.replace(noise, meaning);
        }
    }
    for command in WRAPPERS {
        text = unwrap_command(&text, command);
    }
    text = simple_fraction(&text).unwrap_or(text);
    let text = text.trim().trim_end_matches('.').trim_end_matches('%').trim();
    match number::first(text) {
        Some(found) if found.start == 0 && found.end == text.len() => found.plain,
        _ => text.to_owned(),
    }
}

/// `\text{ apples}` becomes ` apples`.
fn unwrap_command(text: &str, command: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once(command) {
        plain.push_str(before);
        match braced(after) {
            Some(inside) => {
                plain.push_str(inside);
                rest = &after[inside.len() + 2..];
            }
            // No brace closes the command. The rest stays as it is: a search after each of many such braces
            // would take quadratic time.
            None if after.starts_with('{') => {
                rest = after;
                break;
            }
            None => rest = after,
        }
    }
    plain.push_str(rest);
    plain
}

/// `\frac{3}{4}` and `\frac34` become `3/4`, if the text has nothing else.
fn simple_fraction(text: &str) -> Option<String> {
    let (sign, rest) = match text.trim().strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.trim()),
    };
    let rest = rest.trim_start().strip_prefix("\\frac")?;
    let (numerator, denominator) = match braced(rest) {
        Some(numerator) => {
            let after = &rest[numerator.len() + 2..];
            let denominator = braced(after)?;
            (after.len() == denominator.len() + 2).then_some((numerator, denominator))?
        }
        None => rest.trim_start().split_at_checked(1)?,
    };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_simple = is_digits(numerator) && is_digits(denominator);
    is_simple.then(|| format!("{sign}{numerator}/{denominator}"))
}

const NOISE: [(&str, &str); 15] = [
    ("\\$", ""),
    ("$", ""),
    ("\\!", ""),
    ("\\,", ""),
    ("\\;", ""),
    ("\\:", ""),
    ("\\ ", " "),
    ("~", " "),
    ("\\left", ""),
    ("\\right", ""),
    ("\\dfrac", "\\frac"),
    ("\\tfrac", "\\frac"),
    ("^{\\circ}", ""),
    ("^\\circ", ""),
    ("\\%", "%"),
];
const WRAPPERS: [&str; 5] = ["\\textbf", "\\text", "\\mathrm", "\\mathbf", "\\mbox"];
