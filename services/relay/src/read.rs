//! The read statement and its answer.

use tidings_outbox::Snapshot;

use crate::row::{COLUMNS, Line, OutboxRow};
use crate::session::SessionError;

/// What a read takes at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadBounds {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
    pub(crate) payload_bytes: usize,
}

/// What a read came back with.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) snapshot: Snapshot,
    pub(crate) mark: u64,
    pub(crate) rows: Vec<OutboxRow>,
    pub(crate) truncated: bool,
    /// It started below the plan's position, for transactions that committed late.
    pub(crate) rewound: bool,
}

/// Lines of a read, as they come.
#[derive(Default)]
pub(crate) struct Reading {
    head: Option<(String, i64)>,
    mark: u64,
    rows: Vec<OutboxRow>,
    bytes: usize,
    /// The bound of bytes is reached.
    pub(crate) full: bool,
}

impl Reading {
    /// Takes a line in.
    pub(crate) fn take(&mut self, line: Line, bounds: ReadBounds) {
        match line {
            Line::Head { snapshot, start } => self.head = Some((snapshot, start)),
            Line::Row { mark, row } => {
                self.mark = mark;
                self.bytes += row.data.as_ref().map_or(0, String::len);
                self.rows.push(*row);
                self.full = self.head.is_some() && self.bytes >= bounds.bytes;
            }
        }
    }

    /// The whole read; `position` is the plan's.
    pub(crate) fn finish(self, position: i64, bounds: ReadBounds) -> Result<Read, SessionError> {
        let (snapshot, start) = self.head.ok_or(SessionError::NoSnapshot)?;
        Ok(Read {
            snapshot: Snapshot::parse(&snapshot)?,
            mark: self.mark,
            truncated: self.full || self.rows.len() >= bounds.rows,
            rewound: start < position,
            rows: self.rows,
        })
    }
}

/// The read of `tidings-outbox`: one statement, so one snapshot. The mark is drawn with the first row, so that reads
/// that find nothing use up no transaction id. `not in (subquery)` is probed as a hash table; a list would be searched
/// from end to end for each row. Data beyond the payload's limit is left where it is.
pub(crate) fn read_sql() -> String {
    let nulls = COLUMNS
        .split(',')
        .map(|_| "null")
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "with here as materialized (select pg_current_snapshot() as snapshot),
              start as materialized (
                  select least($1::bigint, (
                      select min(t.restart) from here, unnest($2::bigint[], $3::bigint[]) as t(xid, restart)
                      where pg_visible_in_snapshot(t.xid::text::xid8, here.snapshot))) as id)
         select here.snapshot::text, null::xid8, start.id, null::json, {nulls} from here, start
         union all
         (select null, pg_current_xact_id(), o.id, case when o.data_bytes <= $8::int then o.data end, {COLUMNS}
          from tidings.outbox o
          where o.id > (select start.id from start) and mod(o.shard_hash, $4::int) = $5::int
            and o.id not in (select unnest($6::bigint[]))
          order by o.id limit $7::bigint)"
    )
}
