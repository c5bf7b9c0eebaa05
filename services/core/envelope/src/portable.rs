//! Templates that may come from a registry: what a schema carries is rendered by dispatchers that never saw it.
//!
//! Fuel bounds the steps of a template and the writer bounds its text, but neither bounds what one step may build:
//! doubling a text thirty times takes thirty steps and a gigabyte. So such a template may show and compare values, loop
//! over them and use a few filters, and can build nothing.

/// Why a template is not portable; the remedy is to write it with `for`, `if` and fields alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what} is not portable; use fields, for, if and the filters {}", FILTERS.join(", "))]
pub struct NotPortable {
    /// The line, from 1.
    pub line: usize,
    /// What stands there.
    pub what: String,
}

/// Filters whose result is not larger than a small multiple of what they get.
const FILTERS: [&str; 11] = [
    "upper",
    "lower",
    "title",
    "capitalize",
    "trim",
    "default",
    "length",
    "count",
    "first",
    "last",
    "abs",
];
/// Statements that bind no new values, but for a loop's elements.
const STATEMENTS: [&str; 6] = ["for", "endfor", "if", "elif", "else", "endif"];

/// Checks a template's tags, without understanding more of them than that.
///
/// # Errors
/// [`NotPortable`], the first.
pub(crate) fn check(template: &str) -> Result<(), NotPortable> {
    let mut rest = template;
    while let Some(start) = rest
        .find("{{")
        .into_iter()
        .chain(rest.find("{%"))
        .chain(rest.find("{#"))
        .min()
    {
        let tag = &rest[start..];
        let refused = |what: &str| NotPortable {
            line: template[..template.len() - tag.len()].matches('\n').count() + 1,
            what: what.to_owned(),
        };
        let length = if tag.starts_with("{#") {
            tag.find("#}").map(|end| end + 2)
        } else {
            Some(tag_length(tag).map_err(|what| refused(&what))?)
        };
        rest = &tag[length.ok_or_else(|| refused("an open comment"))?..];
    }
    Ok(())
}

/// The bytes of a tag that starts here.
fn tag_length(tag: &str) -> Result<usize, String> {
    let statement = tag.starts_with("{%");
    let close = if statement { "%}" } else { "}}" };
    let mut words = Words {
        rest: tag[2..].trim_start_matches(['-', '+']),
    };
    let (mut previous, mut filter) = (None, false);
    loop {
        let word = words.next(close).ok_or("an open tag")?;
        match (&previous, &word) {
            (_, Word::Close) => return Ok(tag.len() - words.rest.len()),
            (None, Word::Name(name)) if statement && !STATEMENTS.contains(name) => {
                return Err(format!("{{% {name}"));
            }
            (Some(Word::Sign('|')), Word::Name(name)) if !FILTERS.contains(name) => {
                return Err(format!("the filter {name}"));
            }
            // The filter before it was checked; anything else that is called is a function, a method or a macro.
            (Some(Word::Name(name)), Word::Sign('(')) if !filter && !is_operator(name) => {
                return Err(format!("the call of {name}"));
            }
            (Some(Word::Sign(')' | ']')), Word::Sign('(')) => return Err("a call".to_owned()),
            (_, Word::Sign(sign @ ('~' | '+' | '*' | '[' | '{' | ':' | '=')))
                if *sign != '=' || !words.compares(previous.as_ref()) =>
            {
                return Err(format!("the sign {sign}"));
            }
            (_, Word::Name(_) | Word::Sign(_) | Word::Literal) => {}
        }
        filter = matches!((&previous, &word), (Some(Word::Sign('|')), Word::Name(_)));
        previous = Some(word);
    }
}

/// Words after which a bracket is no call.
fn is_operator(name: &str) -> bool {
    ["and", "or", "not", "in", "if", "elif", "else", "is"].contains(&name)
}

/// The words of a tag.
struct Words<'t> {
    rest: &'t str,
}

enum Word<'t> {
    Name(&'t str),
    Sign(char),
    /// A text or a number.
    Literal,
    Close,
}

impl<'t> Words<'t> {
    fn next(&mut self, close: &str) -> Option<Word<'t>> {
        self.rest = self.rest.trim_start();
        let unmarked = self.rest.strip_prefix(['-', '+']).unwrap_or(self.rest);
        if let Some(after) = unmarked.strip_prefix(close) {
            self.rest = after;
            return Some(Word::Close);
        }
        let first = self.rest.chars().next()?;
        let (length, word) = match first {
            '"' | '\'' => (literal_length(self.rest, first)?, Word::Literal),
            'a'..='z' | 'A'..='Z' | '_' | '0'..='9' => {
                let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                let length = self.rest.find(end).unwrap_or(self.rest.len());
                let name = &self.rest[..length];
                let word = if first.is_ascii_digit() {
                    Word::Literal
                } else {
                    Word::Name(name)
                };
                (length, word)
            }
            _ => (first.len_utf8(), Word::Sign(first)),
        };
        self.rest = &self.rest[length..];
        Some(word)
    }

    /// Whether the `=` just read belongs to `==`, `!=`, `<=` or `>=`.
    fn compares(&self, previous: Option<&Word<'_>>) -> bool {
        self.rest.starts_with('=') || matches!(previous, Some(Word::Sign('=' | '!' | '<' | '>')))
    }
}

fn literal_length(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, sign) in text.char_indices().skip(1) {
        match (escaped, sign) {
            (false, '\\') => escaped = true,
            (false, sign) if sign == quote => return Some(at + 1),
            (false | true, _) => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_texts_need_is_portable() {
        for template in [
            "",
            "no tags, a + b ~ c [1]",
            "{{ data.order_id }} {{- data.x | default('a [+] }} %}') | upper -}}",
            "{% for item in data.items %}{{ item.quantity }} x {{ item.name }}{% if not loop.last %}, {% endif %}{% endfor %}",
            "{% if data.carrier != \"UNKNOWN\" and (data.a == 1 or data.b is defined) %}x{% elif data.c >= 2 %}y{% else %}z{% endif %}",
            "{# set x = y ~ y #}{%- if data.note -%}{{ data.note }}{%- endif +%}",
        ] {
            assert_eq!(check(template), Ok(()), "{template}");
        }
    }

    #[test]
    fn what_can_build_values_is_refused() {
        for template in [
            "{% set a = data.x %}",
            "{% macro m(a) %}{{ a }}{% endmacro %}",
            "{% raw %}{{ {% endraw %}",
            "{% filter upper %}x{% endfilter %}",
            "{% with a = 1 %}{% endwith %}",
            "{{ data.x ~ data.x }}",
            "{{ data.x + data.x }}",
            "{{ data.x * 1000 }}",
            "{{ [data.x, data.x] }}",
            "{{ {'a': data.x} }}",
            "{% for b in [data.x, data.x] %}{% endfor %}",
            "{{ range(100000) }}",
            "{{ (range)(100000) }}",
            "{{ data.x | replace('', data.x) }}",
            "{{ data.x |join(data.x) }}",
            "{{ data.x.upper() }}",
            "{{ dict(a=1) }}",
            "{{ data.x",
            "{{ 'open }}",
            "{# open",
        ] {
            assert!(check(template).is_err(), "{template}");
        }
    }

    #[test]
    fn the_line_is_named() {
        let error = check("a\nb {{ data.x }}\n\n{% set x = 1 %}").unwrap_err();
        assert_eq!(error.line, 4);
        assert!(
            error
                .to_string()
                .starts_with("line 4: {% set is not portable; use"),
            "{error}"
        );
    }
}
