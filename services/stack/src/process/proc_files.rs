//! What `/proc` says about processes.

use std::fmt;
use std::fs;
use std::str::FromStr;

/// A process that cannot be taken for another: its number is reused, but not with the same start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pid: u32,
    /// When it started, in clock ticks since the system's start.
    started_ticks: u64,
}

impl Identity {
    /// Of a process that runs now.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Stat::read(pid).map(|stat| Self {
            pid,
            started_ticks: stat.started_ticks,
        })
    }

    /// Whether the process still runs. One that has ended and is only waiting to be reaped does not.
    pub(crate) fn is_running(&self) -> bool {
        Stat::read(self.pid)
            .is_some_and(|stat| stat.started_ticks == self.started_ticks && stat.state != 'Z')
    }

    /// The children of the process, without theirs.
    pub(crate) fn children(&self) -> Vec<Identity> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let pids = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| Stat::read(*pid).is_some_and(|stat| stat.parent == self.pid))
            .filter_map(Identity::of)
            .collect()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.pid, self.started_ticks)
    }
}

impl FromStr for Identity {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (pid, started) = text.trim().split_once(' ').ok_or(())?;
        Ok(Self {
            pid: pid.parse().map_err(|_| ())?,
            started_ticks: started.parse().map_err(|_| ())?,
        })
    }
}

/// The fields that we need of `/proc/<pid>/stat`.
struct Stat {
    state: char,
    parent: u32,
    started_ticks: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// See proc(5). The program's name, the second field, may contain spaces and parentheses: count after it.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            started_ticks: fields.get(19)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_no_obstacle() {
        let stat =
            Stat::parse("7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0").unwrap();
        assert_eq!(
            (stat.state, stat.parent, stat.started_ticks),
            ('S', 3, 4711)
        );
    }

    #[test]
    fn an_identity_survives_text_and_tells_reuse() {
        let me = Identity::of(std::process::id()).unwrap();
        assert_eq!(me.to_string().parse(), Ok(me));
        assert!(me.is_running());
        assert!(
            !Identity {
                started_ticks: me.started_ticks + 1,
                ..me
            }
            .is_running()
        );
        assert_eq!("12".parse::<Identity>(), Err(()));
    }
}
