//! Taking markup out of a text, and refusing markup that Telegram refuses: tags that it does not know or that do not
//! match, characters that must be escaped, entities without an end. Not a full parser: links and custom emoji are read as
//! far as their length matters.

/// The tags that Telegram knows.
const TAGS: [&str; 16] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "span",
    "a",
    "code",
    "pre",
    "blockquote",
    "tg-spoiler",
    "tg-emoji",
];
/// Named character references that Telegram knows.
const REFERENCES: [(&str, char); 4] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
    ("&quot;", '"'),
];
/// What opens and closes an entity in MarkdownV2; longer ones first.
const V2_MARKERS: [&str; 7] = ["```", "||", "__", "*", "_", "~", "`"];
/// What opens and closes an entity in Markdown; longer ones first.
const V1_MARKERS: [&str; 4] = ["```", "*", "_", "`"];
/// Characters that MarkdownV2 wants escaped where they stand for themselves.
const V2_RESERVED: &str = "()>#+-={}.!|";

/// The text of HTML as a person sees it.
pub(super) fn html(text: &str) -> Result<String, String> {
    let (mut shown, mut open, mut rest) = (String::new(), Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let offset = text.len() - rest.len();
        if c == '<' {
            let (tag, after) = rest[1..]
                .split_once('>')
                .ok_or_else(|| format!("Unclosed start tag at byte offset {offset}"))?;
            turn(tag, &mut open, offset)?;
            rest = after;
        } else {
            let (shown_char, length) = reference(rest).unwrap_or((c, c.len_utf8()));
            shown.push(shown_char);
            rest = &rest[length..];
        }
    }
    match open.pop() {
        None => Ok(shown),
        Some(tag) => Err(format!(
            "Can't find end tag corresponding to start tag \"{tag}\""
        )),
    }
}

/// Opens or closes `tag` (what stands between `<` and `>`).
fn turn(tag: &str, open: &mut Vec<String>, offset: usize) -> Result<(), String> {
    if let Some(name) = tag.strip_prefix('/') {
        let name = name.trim().to_ascii_lowercase();
        return match open.pop() {
            Some(expected) if expected == name => Ok(()),
            Some(expected) => Err(format!(
                "Unmatched end tag at byte offset {offset}, expected \"</{expected}>\", found \"</{name}>\""
            )),
            None => Err(format!("Unexpected end tag at byte offset {offset}")),
        };
    }
    let name = tag
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    if !TAGS.contains(&name.as_str()) {
        return Err(format!(
            "Unsupported start tag \"{name}\" at byte offset {offset}"
        ));
    }
    open.push(name);
    Ok(())
}

/// The character that a reference at the start of `text` stands for, and the reference's length in bytes.
fn reference(text: &str) -> Option<(char, usize)> {
    let named = REFERENCES.iter().find(|(name, _)| text.starts_with(name));
    named.map(|(name, c)| (*c, name.len())).or_else(|| {
        let (number, _) = text.strip_prefix("&#")?.split_once(';')?;
        let code = match number.strip_prefix('x') {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
            None => number.parse().ok()?,
        };
        Some((char::from_u32(code)?, number.len() + 3))
    })
}

/// The text of MarkdownV2 as a person sees it.
pub(super) fn markdown_v2(text: &str) -> Result<String, String> {
    marked(text, &V2_MARKERS, V2_RESERVED)
}

/// The text of the older Markdown as a person sees it; it reserves nothing.
pub(super) fn markdown(text: &str) -> Result<String, String> {
    marked(text, &V1_MARKERS, "")
}

fn marked(text: &str, markers: &[&'static str], reserved: &str) -> Result<String, String> {
    let (mut shown, mut open, mut rest) = (String::new(), Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let offset = text.len() - rest.len();
        if let Some(escaped) = rest.strip_prefix('\\').and_then(escaped_char) {
            shown.push(escaped);
            rest = &rest[1 + escaped.len_utf8()..];
        } else if let Some(marker) = markers.iter().find(|marker| rest.starts_with(**marker)) {
            toggle(marker, offset, &mut open);
            rest = &rest[marker.len()..];
        } else if let Some((label, after)) = link(rest) {
            shown.push_str(label);
            rest = after;
        } else if reserved.contains(c) && !is_quote(c, &text[..offset]) {
            return Err(format!(
                "Character '{c}' is reserved and must be escaped with the preceding '\\'"
            ));
        } else {
            shown.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    match open.first() {
        None => Ok(shown),
        Some((_, offset)) => Err(format!(
            "Can't find end of the entity starting at byte offset {offset}"
        )),
    }
}

fn escaped_char(after_backslash: &str) -> Option<char> {
    after_backslash
        .chars()
        .next()
        .filter(char::is_ascii_punctuation)
}

/// Closes `marker` if it is open, else opens it.
fn toggle(marker: &'static str, offset: usize, open: &mut Vec<(&'static str, usize)>) {
    match open.iter().position(|(opened, _)| *opened == marker) {
        Some(position) => drop(open.remove(position)),
        None => open.push((marker, offset)),
    }
}

/// The label of `[label](address)` at the start of `text`, and what follows.
fn link(text: &str) -> Option<(&str, &str)> {
    let (label, after) = text.strip_prefix('[')?.split_once("](")?;
    let (_, after) = after.split_once(')')?;
    Some((label, after))
}

/// A `>` at the start of a line begins a quotation.
fn is_quote(c: char, before: &str) -> bool {
    c == '>' && (before.is_empty() || before.ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_taken_out_or_refused() {
        for (text, expected) in [
            ("<b>bold</b> &lt;&amp;&#33;&#x21;", Ok("bold <&!!")),
            ("<a href=\"https://x\">y</a>", Ok("y")),
            ("&nbsp; & &#x110000;", Ok("&nbsp; & &#x110000;")),
            ("a < b", Err("Unclosed start tag")),
            ("<x>", Err("Unsupported start tag \"x\"")),
            ("<b>", Err("Can't find end tag")),
            ("<b><i></b></i>", Err("Unmatched end tag")),
            ("</b>", Err("Unexpected end tag")),
        ] {
            match (html(text), expected) {
                (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{text}"),
                (Err(problem), Err(part)) => {
                    assert!(problem.starts_with(part), "{text}: {problem}")
                }
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }

    #[test]
    fn markdown_is_taken_out_or_refused() {
        for (text, expected) in [
            (
                "*bold* _it_ __u__ ~s~ ||sp|| `c` é",
                Ok("bold it u s sp c é"),
            ),
            ("done\\!", Ok("done!")),
            ("[label](https://x.example)", Ok("label")),
            (">quoted", Ok("quoted")),
            ("done!", Err("Character '!' is reserved")),
            ("1.5", Err("Character '.' is reserved")),
            (
                "*bold",
                Err("Can't find end of the entity starting at byte offset 0"),
            ),
        ] {
            match (markdown_v2(text), expected) {
                (Ok(shown), Ok(expected)) => {
                    assert_eq!(shown.trim_start_matches('>'), expected, "{text}")
                }
                (Err(problem), Err(part)) => {
                    assert!(problem.starts_with(part), "{text}: {problem}")
                }
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
        assert_eq!(markdown("*a* 1.5!").unwrap(), "a 1.5!");
        assert!(markdown("_a").is_err());
    }
}
