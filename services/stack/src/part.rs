//! The parts of a stack.

use std::fmt;

/// One server of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// PostgreSQL: the upstream database and Tidings' own.
    Postgres,
    /// Apache Kafka, one node that is broker and controller.
    Kafka,
    /// Apicurio Registry, with the Confluent-compatible API.
    Registry,
    /// Jaeger, which keeps traces. Only where [`StackOptions::jaeger`](crate::StackOptions::jaeger) asks for it.
    Jaeger,
}

impl Part {
    /// The parts of every stack, in the order in which people think of them.
    pub const ALL: [Part; 3] = [Part::Postgres, Part::Kafka, Part::Registry];

    /// The part's name in file names and messages: `postgres`, `kafka`, `registry` or `jaeger`.
    pub fn name(self) -> &'static str {
        match self {
            Part::Postgres => "postgres",
            Part::Kafka => "kafka",
            Part::Registry => "registry",
            Part::Jaeger => "jaeger",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
