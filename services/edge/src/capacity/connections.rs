//! The connections that a server leaves to Tidings.

use tokio_postgres::Client;

use crate::postgres::PostgresError;

/// -1 in the catalogues means "no bound of its own".
const ROOM: &str = "
    select current_setting('max_connections')::int8,
           current_setting('superuser_reserved_connections')::int8
               + coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::int8,
           (select nullif(datconnlimit, -1)::int8 from pg_database where datname = current_database()),
           (select nullif(rolconnlimit, -1)::int8 from pg_roles where rolname = current_user)";

/// How many connections a server has, and how many of them are kept from ordinary users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRoom {
    /// `max_connections`.
    pub max_connections: u64,
    /// `superuser_reserved_connections` and, from PostgreSQL 16 on, `reserved_connections`.
    pub reserved: u64,
    /// The least of the database's and the user's own bound, if either has one.
    pub own_bound: Option<u64>,
}

impl ConnectionRoom {
    /// What is left for consumers, if nothing else connects.
    #[must_use]
    pub fn usable(&self) -> u64 {
        let server = self.max_connections.saturating_sub(self.reserved);
        self.own_bound.map_or(server, |own| own.min(server))
    }
}

/// Asks the server of a session.
///
/// # Errors
/// The statement failed.
pub async fn connection_room(client: &Client) -> Result<ConnectionRoom, PostgresError> {
    let row = client.query_one(ROOM, &[]).await;
    let row = row.map_err(PostgresError::doing(
        "read the server's bounds of connections",
    ))?;
    let number = |column| -> Option<u64> {
        let value: Option<i64> = row.try_get(column).ok().flatten();
        value.and_then(|value| u64::try_from(value).ok())
    };
    Ok(ConnectionRoom {
        max_connections: number(0).unwrap_or(0),
        reserved: number(1).unwrap_or(0),
        own_bound: [number(2), number(3)].into_iter().flatten().min(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_or_bounded_is_not_for_consumers() {
        let room = |reserved, own_bound| ConnectionRoom {
            max_connections: 100,
            reserved,
            own_bound,
        };
        assert_eq!(room(3, None).usable(), 97);
        assert_eq!(room(3, Some(40)).usable(), 40);
        assert_eq!(room(3, Some(1_000)).usable(), 97);
        assert_eq!(room(200, None).usable(), 0);
    }
}
