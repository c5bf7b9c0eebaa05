//! The statements. Each takes arrays, one element a message or a chat, and reads the partitions' epochs FOR SHARE, as
//! the claims do: a bump waits for what saw the old epoch, and what comes after it is refused.

use crate::state::Statement;

/// Writes messages behind their chats' markers, makes those markers or moves them, and gives the claims back. A message
/// that has its end is not written, and that counts as done. So does one that is there already; a message that lies in
/// the partition twice keeps its first place, in whatever order its records are written. One whose place another message
/// has (the topic was made anew) is not done.
///
/// The bytes are not in `input`, which is read several times. No marker is locked by hand: the foreign key does, whose
/// check comes when the statement ends.
pub(super) const DEFER: Statement = Statement { name: "defer", text: "
WITH input AS (
    SELECT * FROM unnest($3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::text[], $8::float8[], $9::bool[], $10::text[],
                         $11::int[], $12::uuid[], $13::text[], $14::bigint[], $15::int[], $16::bigint[])
        WITH ORDINALITY AS i (topic, partition, epoch, record_offset, chat, due_seconds, moves_due, reason,
                              day, message_id, nonce, fence, attempts, first_failed_micros, ord)
), current AS (
    SELECT e.topic, e.partition, e.epoch
    FROM tidings_delivery.partition_epochs e
    JOIN (SELECT DISTINCT topic, partition, epoch FROM input) d USING (topic, partition, epoch)
    WHERE e.consumer_name = $1
    ORDER BY e.topic, e.partition
    FOR SHARE OF e
), unsettled AS (
    SELECT i.* FROM input i JOIN current USING (topic, partition, epoch)
    WHERE NOT EXISTS (
        SELECT FROM tidings_delivery.claims c
        WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day AND c.message_id = i.message_id
          AND c.resend_nonce = i.nonce AND c.settled_at IS NOT NULL
    )
), firsts AS (
    SELECT DISTINCT ON (topic, partition, message_id, nonce) * FROM unsettled
    ORDER BY topic, partition, message_id, nonce, record_offset
), written AS (
    INSERT INTO tidings_delivery.deferred_messages
        (consumer_name, topic, partition, record_offset, chat, message_id, resend_nonce, recorded_day,
         record_key, record_value, record_headers, record_timestamp_millis, event_type)
    SELECT $1, i.topic, i.partition, i.record_offset, i.chat, i.message_id, i.nonce, date '1970-01-01' + i.day,
           r.key, r.value, r.headers, r.timestamp_millis, r.event_type
    FROM firsts i
    JOIN unnest($17::bytea[], $18::bytea[], $19::bytea[], $20::bigint[], $21::text[])
        WITH ORDINALITY AS r (key, value, headers, timestamp_millis, event_type, ord) USING (ord)
    ON CONFLICT DO NOTHING
    RETURNING topic, partition, message_id, resend_nonce
), lowered AS (
    UPDATE tidings_delivery.deferred_messages m
    SET record_offset = i.record_offset
    FROM firsts i
    WHERE m.consumer_name = $1 AND m.topic = i.topic AND m.partition = i.partition
      AND m.message_id = i.message_id AND m.resend_nonce = i.nonce AND m.record_offset > i.record_offset
      AND NOT EXISTS (
          SELECT FROM tidings_delivery.deferred_messages o
          WHERE o.consumer_name = $1 AND o.topic = i.topic AND o.partition = i.partition AND o.record_offset = i.record_offset
      )
), there AS (
    SELECT i.ord FROM unsettled i
    JOIN written w ON w.topic = i.topic AND w.partition = i.partition AND w.message_id = i.message_id AND w.resend_nonce = i.nonce
    UNION
    SELECT i.ord FROM unsettled i
    JOIN tidings_delivery.deferred_messages m ON m.consumer_name = $1 AND m.topic = i.topic AND m.partition = i.partition
        AND m.message_id = i.message_id AND m.resend_nonce = i.nonce
), marked AS (
    INSERT INTO tidings_delivery.deferred_chats (consumer_name, topic, partition, chat, due_at, reason)
    SELECT DISTINCT ON (topic, partition, chat)
           $1, topic, partition, chat, clock_timestamp() + make_interval(secs => due_seconds), reason
    FROM unsettled JOIN there USING (ord)
    ORDER BY topic, partition, chat, moves_due DESC, record_offset
    ON CONFLICT DO NOTHING
), moved AS (
    UPDATE tidings_delivery.deferred_chats d
    SET due_at = clock_timestamp() + make_interval(secs => i.due_seconds), reason = i.reason
    FROM unsettled i JOIN there USING (ord)
    WHERE i.moves_due AND d.consumer_name = $1 AND d.topic = i.topic AND d.partition = i.partition AND d.chat = i.chat
), released AS (
    UPDATE tidings_delivery.claims c
    SET state = 'claimed', lease_until = clock_timestamp(), attempts = greatest(c.attempts, i.attempts),
        first_failed_at = coalesce(c.first_failed_at, timestamptz 'epoch' + make_interval(secs => i.first_failed_micros / 1e6))
    FROM unsettled i JOIN there USING (ord)
    WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day AND c.message_id = i.message_id
      AND c.resend_nonce = i.nonce AND c.fence = i.fence AND c.owner = $2 AND c.state IN ('claimed', 'started')
)
SELECT i.ord, current.epoch IS NOT NULL AS owned, u.ord IS NULL AS had_its_end, t.ord IS NOT NULL AS done
FROM input i
LEFT JOIN current USING (topic, partition, epoch)
LEFT JOIN unsettled u ON u.ord = i.ord
LEFT JOIN there t ON t.ord = i.ord" };

/// Reads messages of each chat back, in order: at most so many, and, but for a single larger one, so many bytes.
pub(super) const LOAD: Statement = Statement {
    name: "load_deferred",
    text: "
WITH input AS (
    SELECT * FROM unnest($2::text[], $3::int[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
        WITH ORDINALITY AS i (topic, partition, epoch, chat, after_offset, below_offset, most, ord)
), current AS (
    SELECT e.topic, e.partition, e.epoch
    FROM tidings_delivery.partition_epochs e
    JOIN (SELECT DISTINCT topic, partition, epoch FROM input) d USING (topic, partition, epoch)
    WHERE e.consumer_name = $1
    ORDER BY e.topic, e.partition
    FOR SHARE OF e
)
SELECT i.ord, current.epoch IS NOT NULL AS owned,
       m.record_offset, m.record_key, m.record_value, m.record_headers, m.record_timestamp_millis, m.found
FROM input i
LEFT JOIN current USING (topic, partition, epoch)
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT f.*, row_number() OVER in_order AS nth, sum(octet_length(record_value)) OVER in_order AS bytes,
               count(*) OVER () AS found
        FROM (
            SELECT d.record_offset, d.record_key, d.record_value, d.record_headers, d.record_timestamp_millis
            FROM tidings_delivery.deferred_messages d
            WHERE d.consumer_name = $1 AND d.topic = i.topic AND d.partition = i.partition AND d.chat = i.chat
              AND d.record_offset > i.after_offset AND d.record_offset < i.below_offset
            ORDER BY d.record_offset
            LIMIT i.most + 1
        ) f
        WINDOW in_order AS (ORDER BY record_offset)
    ) n
    WHERE n.nth <= i.most AND (n.nth = 1 OR n.bytes <= $9)
) m ON current.epoch IS NOT NULL
ORDER BY i.ord, m.record_offset",
};

/// Removes messages that have their end.
pub(super) const UNDEFER: Statement = Statement {
    name: "undefer",
    text: "
WITH input AS (
    SELECT * FROM unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[])
        WITH ORDINALITY AS i (topic, partition, epoch, record_offset, ord)
), current AS (
    SELECT e.topic, e.partition, e.epoch
    FROM tidings_delivery.partition_epochs e
    JOIN (SELECT DISTINCT topic, partition, epoch FROM input) d USING (topic, partition, epoch)
    WHERE e.consumer_name = $1
    ORDER BY e.topic, e.partition
    FOR SHARE OF e
), removed AS (
    DELETE FROM tidings_delivery.deferred_messages d
    USING input i JOIN current USING (topic, partition, epoch)
    WHERE d.consumer_name = $1 AND d.topic = i.topic AND d.partition = i.partition AND d.record_offset = i.record_offset
)
SELECT i.ord, current.epoch IS NOT NULL AS owned, true AS done
FROM input i LEFT JOIN current USING (topic, partition, epoch)",
};

/// Removes the markers behind which no message is. A message that is written beside it is not in this statement's
/// snapshot, but in that of the foreign key's check, which refuses the whole statement then; it is asked again.
pub(super) const CLOSE: Statement = Statement {
    name: "close_deferral",
    text: "
WITH input AS (
    SELECT * FROM unnest($2::text[], $3::int[], $4::bigint[], $5::text[])
        WITH ORDINALITY AS i (topic, partition, epoch, chat, ord)
), current AS (
    SELECT e.topic, e.partition, e.epoch
    FROM tidings_delivery.partition_epochs e
    JOIN (SELECT DISTINCT topic, partition, epoch FROM input) d USING (topic, partition, epoch)
    WHERE e.consumer_name = $1
    ORDER BY e.topic, e.partition
    FOR SHARE OF e
), judged AS (
    SELECT i.*, EXISTS (
        SELECT FROM tidings_delivery.deferred_messages m
        WHERE m.consumer_name = $1 AND m.topic = i.topic AND m.partition = i.partition AND m.chat = i.chat
    ) AS rows_remain
    FROM input i
), gone AS (
    DELETE FROM tidings_delivery.deferred_chats d
    USING judged i JOIN current USING (topic, partition, epoch)
    WHERE d.consumer_name = $1 AND d.topic = i.topic AND d.partition = i.partition AND d.chat = i.chat AND NOT i.rows_remain
)
SELECT i.ord, current.epoch IS NOT NULL AS owned, i.rows_remain
FROM judged i LEFT JOIN current USING (topic, partition, epoch)",
};

/// Every marker of partitions. Asked after their epochs were bumped: what an earlier owner wrote is committed then.
pub(super) const MARKERS: Statement = Statement {
    name: "read_deferred",
    text: "
SELECT d.topic, d.partition, d.chat, d.give_up_reason, d.changed_at,
       extract(epoch FROM d.due_at - clock_timestamp())::float8 AS due_seconds
FROM tidings_delivery.deferred_chats d
JOIN unnest($2::text[], $3::int[]) AS i (topic, partition) USING (topic, partition)
WHERE d.consumer_name = $1",
};

/// Those that an operator changed and nobody has seen, the longest waiting first.
pub(super) const CHANGED: Statement = Statement {
    name: "poll_deferred",
    text: "
SELECT d.topic, d.partition, d.chat, d.give_up_reason, d.changed_at,
       extract(epoch FROM d.due_at - clock_timestamp())::float8 AS due_seconds
FROM tidings_delivery.deferred_chats d
JOIN unnest($2::text[], $3::int[]) AS i (topic, partition) USING (topic, partition)
WHERE d.consumer_name = $1 AND d.changed_at IS NOT NULL
ORDER BY d.changed_at
LIMIT $4",
};

/// The changes were seen; one that was made meanwhile stays.
pub(super) const SEEN: Statement = Statement {
    name: "see_deferred",
    text: "
UPDATE tidings_delivery.deferred_chats d
SET changed_at = NULL
FROM unnest($2::text[], $3::int[], $4::text[], $5::timestamptz[]) AS i (topic, partition, chat, changed_at)
WHERE d.consumer_name = $1 AND d.topic = i.topic AND d.partition = i.partition AND d.chat = i.chat
  AND d.changed_at = i.changed_at",
};

/// How many messages wait.
pub(super) const COUNT: Statement = Statement {
    name: "count_deferred",
    text: "
SELECT count(*) AS messages
FROM tidings_delivery.deferred_messages d
JOIN unnest($2::text[], $3::int[]) AS i (topic, partition) USING (topic, partition)
WHERE d.consumer_name = $1",
};
