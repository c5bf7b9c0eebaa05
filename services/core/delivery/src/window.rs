use std::collections::VecDeque;

/// The newest of a stream of outcomes, up to a bound: what shares are taken of (design §8, "of the last 200").
#[derive(Debug, Clone)]
pub(crate) struct Window<T>(VecDeque<T>);

impl<T> Default for Window<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Copy> Window<T> {
    /// Takes one more and lets the oldest go past `bound`.
    pub(crate) fn push(&mut self, outcome: T, bound: usize) {
        self.0.push_back(outcome);
        while self.0.len() > bound.max(1) {
            self.0.pop_front();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether at least `least` were seen and `share` of them (0.0 to 1.0) or more are such.
    pub(crate) fn reaches(&self, least: usize, share: f64, such: impl Fn(T) -> bool) -> bool {
        let seen = self.0.len();
        let count = self.0.iter().filter(|outcome| such(**outcome)).count();
        // At most a few thousand: exact in an f64.
        #[allow(clippy::cast_precision_loss)]
        let reached = count as f64 >= share * seen as f64;
        count > 0 && seen >= least && reached
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn a_share_is_of_the_newest_and_needs_enough_of_them() {
        let mut window = Window::default();
        for _ in 0..3 {
            window.push(true, 4);
        }
        assert!(!window.reaches(4, 0.5, |failed| failed));
        window.push(false, 4);
        assert!(window.reaches(4, 0.75, |failed| failed));
        window.push(false, 4);
        assert!(window.reaches(4, 0.5, |failed| failed));
        window.push(false, 4);
        assert!(!window.reaches(4, 0.5, |failed| failed));
    }

    #[test]
    fn nothing_reaches_no_share() {
        assert!(!Window::default().reaches(0, 0.0, |failed: bool| failed));
    }
}
