//! What a claim check names, as part of a text (requirement B7).

use crate::catalogue::EventType;
use crate::template::{CONTENT, TEMPLATE, TextMaker};

impl EventType {
    /// Whether a claim check's content becomes part of the text. A claim check on any other type would be left unread.
    #[must_use]
    pub fn uses_content(&self) -> bool {
        match self.text() {
            TextMaker::Ready => true,
            TextMaker::Template(template) => template
                .environment()
                .get_template(TEMPLATE)
                .is_ok_and(|parsed| parsed.undeclared_variables(false).contains(CONTENT)),
        }
    }
}
