//! Names of people: which names are one person.

/// The form of a name in which names of one person are equal: without invisible characters, with single spaces,
/// and without upper case. Empty if no visible character is left.
pub fn person(name: &str) -> String {
    let seen: String = name.chars().filter(|c| !is_ignorable(*c)).collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    // By way of upper case, so that ß and ss are equal, and σ and ς.
    let folded = words.join(" ").chars().flat_map(char::to_uppercase).collect::<String>();
    folded.chars().flat_map(char::to_lowercase).collect()
}

/// Whether a character has the Unicode property `Default_Ignorable_Code_Point`, or is a control character other than
/// white space.
fn is_ignorable(c: char) -> bool {
    let is_default_ignorable = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    is_default_ignorable || (c.is_control() && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_are_equal() {
        for (one, other) in [
            ("Ana", "ana"),
            ("Ana", " A\u{200b}na\u{feff}\n"),
            ("Ana Lee", "ANA\u{a0} \tLEE"),
            ("Straße", "STRASSE"),
            ("Σοφος", "ΣΟΦΟΣ"),
            ("\u{2060}\u{3164} \u{7}", ""),
        ] {
            assert_eq!(person(one), person(other), "{one:?}");
        }
        for (one, other) in [("Ana", "Anna"), ("Ana Lee", "AnaLee"), ("José", "Jose"), ("李", "王")]
        {
            assert_ne!(person(one), person(other), "{one:?}");
        }
    }
}
