//! The statements about targets. Columns are read by name.

/// A probe is made a little before it is due when the worker's clock runs ahead of the database's: that counts.
/// What is dead and not due was found so by another call of the same time.
pub(super) const DEAD: &str = "
    INSERT INTO tidings_delivery.targets AS known
        (platform, account, chat_id, thread_id, kind, reason, next_probe_at)
    VALUES ($1, $2, $3, $4, 'dead', $5, clock_timestamp() + $6::float8 * interval '1 second')
    ON CONFLICT (platform, account, chat_id, thread_id) DO UPDATE
    SET kind = 'dead', new_chat_id = NULL, reason = excluded.reason,
        since = CASE WHEN known.kind = 'dead' THEN known.since ELSE excluded.since END,
        probes = CASE WHEN known.kind = 'dead' THEN known.probes + 1 ELSE 0 END,
        next_probe_at = CASE WHEN known.kind = 'dead'
            THEN clock_timestamp() + interval '1 second'
                * least($6::float8 * power(2, least(known.probes, 30) + 1), $7::float8)
            ELSE excluded.next_probe_at END,
        changed_at = excluded.changed_at
    WHERE known.kind <> 'dead' OR known.next_probe_at <= clock_timestamp() + interval '30 seconds'";

pub(super) const MIGRATED: &str = "
    INSERT INTO tidings_delivery.targets AS known
        (platform, account, chat_id, kind, new_chat_id, reason)
    VALUES ($1, $2, $3, 'migrated', $4, $5)
    ON CONFLICT (platform, account, chat_id, thread_id) DO UPDATE
    SET kind = 'migrated', new_chat_id = excluded.new_chat_id, reason = excluded.reason, since = excluded.since,
        probes = 0, next_probe_at = NULL, changed_at = excluded.changed_at
    WHERE known.kind <> 'migrated' OR known.new_chat_id <> excluded.new_chat_id";

pub(super) const ALIVE: &str = "
    UPDATE tidings_delivery.targets
    SET kind = 'alive', new_chat_id = NULL, reason = $5, since = clock_timestamp(), probes = 0, next_probe_at = NULL,
        changed_at = clock_timestamp()
    WHERE (platform, account, chat_id, thread_id) = ($1, $2, $3, $4) AND kind <> 'alive'";

pub(super) const ALL_ALIVE: &str = "
    UPDATE tidings_delivery.targets
    SET kind = 'alive', new_chat_id = NULL, reason = $3, since = clock_timestamp(), probes = 0, next_probe_at = NULL,
        changed_at = clock_timestamp()
    WHERE (platform, account) = ($1, $2) AND kind <> 'alive'";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT platform, account, chat_id, thread_id, kind, new_chat_id, reason, since, probes, changed_at,
                extract(epoch FROM next_probe_at - clock_timestamp())::float8 AS probe_left_seconds
            FROM tidings_delivery.targets ",
            $rest
        )
    };
}

pub(super) const CHANGED: &str = select!("WHERE changed_at >= $1 ORDER BY changed_at LIMIT $2");

/// The newest, in the order of their changes.
pub(super) const NEWEST: &str = concat!(
    "SELECT * FROM (",
    select!("ORDER BY changed_at DESC LIMIT $1"),
    ") AS newest ORDER BY changed_at"
);

pub(super) const LIST: &str = select!(
    "WHERE kind <> 'alive' AND ($1::text IS NULL OR (platform, account) = ($1, $2::text))
    ORDER BY changed_at DESC, platform, account, chat_id, thread_id LIMIT $3"
);

pub(super) const FORGET_THE_LIVING: &str = "
    DELETE FROM tidings_delivery.targets
    WHERE kind = 'alive' AND changed_at < clock_timestamp() - interval '1 day'";
