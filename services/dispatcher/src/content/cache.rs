//! Contents that were verified a moment ago. One text goes to many chats, and one message may need several calls; what has the
//! same length and SHA-256 is the same text, wherever it lies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The most contents kept, so that looking one up stays short.
const CONTENTS: usize = 256;

/// The latest contents, within a bound of bytes.
pub(super) struct Cache {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The one used last comes last.
    contents: VecDeque<(Box<str>, Arc<str>)>,
    bytes: usize,
}

impl Cache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            kept: Mutex::default(),
        }
    }

    /// The content with this key, if it is kept.
    pub(super) fn get(&self, key: &str) -> Option<Arc<str>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.contents.iter().position(|(of, _)| &**of == key)?;
        let found = kept.contents.remove(place)?;
        let text = Arc::clone(&found.1);
        kept.contents.push_back(found);
        Some(text)
    }

    /// Keeps a content in place of those that were not used for the longest time.
    pub(super) fn keep(&self, key: &str, text: &Arc<str>) {
        if text.len() > self.max_bytes || self.get(key).is_some() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += text.len();
        kept.contents.push_back((key.into(), Arc::clone(text)));
        while kept.bytes > self.max_bytes || kept.contents.len() > CONTENTS {
            let Some((_, oldest)) = kept.contents.pop_front() else {
                return;
            };
            kept.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Arc<str> {
        text.into()
    }

    #[test]
    fn the_longest_unused_leave_first() {
        let cache = Cache::new(10);
        cache.keep("a", &text("aaaa"));
        cache.keep("b", &text("bbbb"));
        cache.keep("a", &text("aaaa"));
        cache.keep("c", &text("cccc"));
        assert_eq!(cache.get("a").as_deref(), Some("aaaa"));
        assert_eq!(cache.get("b"), None);
        assert_eq!(cache.get("c").as_deref(), Some("cccc"));
        cache.keep("d", &text("more than all"));
        assert_eq!(cache.get("d"), None);
    }

    #[test]
    fn many_small_ones_are_bounded_too() {
        let cache = Cache::new(1_000_000);
        for number in 0..=CONTENTS {
            cache.keep(&number.to_string(), &text("x"));
        }
        assert_eq!(cache.get("0"), None);
        assert!(cache.get("1").is_some());
    }
}
