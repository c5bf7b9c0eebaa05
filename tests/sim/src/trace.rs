use std::collections::VecDeque;

/// What becomes of the lines that tell a world's story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracing {
    /// Nobody reads them; they are not made.
    Off,
    /// The last so many are kept.
    Last(usize),
    /// Each is printed as it happens.
    Print,
}

#[derive(Debug)]
pub(crate) struct Trace {
    tracing: Tracing,
    lines: VecDeque<String>,
}

impl Trace {
    pub(crate) fn new(tracing: Tracing) -> Self {
        Self {
            tracing,
            lines: VecDeque::new(),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.tracing != Tracing::Off
    }

    pub(crate) fn add(&mut self, now: u64, line: &str) {
        let line = format!("{:>10.4} s  {line}", now as f64 / 1e6);
        match self.tracing {
            Tracing::Off => {}
            Tracing::Print => println!("{line}"),
            Tracing::Last(most) => {
                if self.lines.len() >= most {
                    self.lines.pop_front();
                }
                self.lines.push_back(line);
            }
        }
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}

/// Adds a line to the story, which is made only if somebody reads it.
macro_rules! note {
    ($world:expr, $($words:tt)*) => {
        if $world.trace.is_on() {
            let line = format!($($words)*);
            $world.trace.add($world.now, &line);
        }
    };
}
pub(crate) use note;
