//! The statements. Each takes arrays, one element a message, and answers one row a message with its ordinal.

use crate::state::Statement;

/// Asks whether the database answers.
pub(super) const PING: Statement = Statement {
    name: "ping",
    text: "SELECT 1",
};

/// Bumps the epochs of partitions that were assigned, before anything of them is claimed.
pub(super) const BUMP_EPOCHS: Statement = Statement {
    name: "bump_epochs",
    text: "
INSERT INTO tidings_delivery.partition_epochs AS e (consumer_name, topic, partition, epoch)
SELECT $1, i.topic, i.partition, 1
FROM unnest($2::text[], $3::int[]) AS i (topic, partition)
ORDER BY i.topic, i.partition
ON CONFLICT (consumer_name, topic, partition) DO UPDATE SET epoch = e.epoch + 1
RETURNING e.topic, e.partition, e.epoch, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_micros",
};

/// Takes what is new, released or run out, under the partition's epoch. The epoch's row is locked FOR SHARE in the same
/// statement: a bump waits for the claims that saw the old one, and none that sees it can follow the bump.
/// What was not taken is told with the state that the statement's snapshot shows; a row that another worker inserted
/// meanwhile is not in it, and has neither.
pub(super) const CLAIM: Statement = Statement { name: "claim", text: "
WITH input AS (
    SELECT * FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::int[], $8::bigint[], $9::bigint[])
        WITH ORDINALITY AS i (day, message_id, nonce, topic, partition, record_offset, epoch, ord)
), current AS (
    SELECT e.topic, e.partition, e.epoch
    FROM tidings_delivery.partition_epochs e
    JOIN (SELECT DISTINCT topic, partition, epoch FROM input) d USING (topic, partition, epoch)
    WHERE e.consumer_name = $1
    ORDER BY e.topic, e.partition
    FOR SHARE OF e
), taken AS (
    INSERT INTO tidings_delivery.claims AS c
        (consumer_name, recorded_day, message_id, resend_nonce, state, fence, owner, lease_until, topic, partition, record_offset)
    SELECT $1, date '1970-01-01' + i.day, i.message_id, i.nonce, 'claimed', 1, $2,
           clock_timestamp() + make_interval(secs => $10), i.topic, i.partition, i.record_offset
    FROM input i JOIN current USING (topic, partition, epoch)
    ON CONFLICT (consumer_name, recorded_day, message_id, resend_nonce) DO UPDATE
    SET fence = c.fence + 1, owner = excluded.owner, lease_until = excluded.lease_until,
        topic = excluded.topic, partition = excluded.partition, record_offset = excluded.record_offset
    WHERE c.state IN ('claimed', 'started') AND c.lease_until <= clock_timestamp()
    RETURNING c.recorded_day, c.message_id, c.resend_nonce, c.state, c.fence, c.attempts, c.first_failed_at
)
SELECT i.ord, current.epoch IS NOT NULL AS owned, t.fence, t.state AS taken_state, t.attempts,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_micros,
       (extract(epoch FROM t.first_failed_at) * 1000000)::bigint AS first_failed_micros,
       x.state AS found_state,
       (extract(epoch FROM x.lease_until - clock_timestamp()) * 1000)::bigint AS lease_left_millis
FROM input i
LEFT JOIN current USING (topic, partition, epoch)
LEFT JOIN taken t ON t.recorded_day = date '1970-01-01' + i.day AND t.message_id = i.message_id AND t.resend_nonce = i.nonce
LEFT JOIN LATERAL (
    SELECT c.state, c.lease_until FROM tidings_delivery.claims c
    WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day
      AND c.message_id = i.message_id AND c.resend_nonce = i.nonce
) x ON t.fence IS NULL" };

/// Extends what is held, and keeps the attempts and the first failure. `started` is taken back: a renewal follows only
/// an attempt that is known not to have been accepted. The fence moves: a renewal that was given up as unanswered may be
/// carried out seconds later, and must then find another fence, not the `started` of a later attempt.
pub(super) const RENEW: Statement = Statement { name: "renew", text: "
WITH input AS (
    SELECT * FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::int[], $8::bigint[], $9::bigint[], $11::int[], $12::bigint[])
        WITH ORDINALITY AS i (day, message_id, nonce, topic, partition, epoch, fence, attempts, first_failed_micros, ord)
), current AS (
    SELECT e.topic, e.partition, e.epoch
    FROM tidings_delivery.partition_epochs e
    JOIN (SELECT DISTINCT topic, partition, epoch FROM input) d USING (topic, partition, epoch)
    WHERE e.consumer_name = $1
    ORDER BY e.topic, e.partition
    FOR SHARE OF e
), kept AS (
    UPDATE tidings_delivery.claims c
    SET state = 'claimed', fence = c.fence + 1, lease_until = clock_timestamp() + make_interval(secs => $10),
        attempts = greatest(c.attempts, i.attempts),
        first_failed_at = coalesce(c.first_failed_at, timestamptz 'epoch' + make_interval(secs => i.first_failed_micros / 1e6)),
        last_failed_at = CASE WHEN i.attempts > c.attempts THEN clock_timestamp() ELSE c.last_failed_at END
    FROM input i JOIN current USING (topic, partition, epoch)
    WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day AND c.message_id = i.message_id
      AND c.resend_nonce = i.nonce AND c.fence = i.fence AND c.owner = $2 AND c.state IN ('claimed', 'started')
    RETURNING i.ord, c.fence, c.attempts, c.first_failed_at
)
SELECT i.ord, current.epoch IS NOT NULL AS owned, k.fence, k.attempts,
       (extract(epoch FROM k.first_failed_at) * 1000000)::bigint AS first_failed_micros, x.state AS found_state
FROM input i
LEFT JOIN current USING (topic, partition, epoch)
LEFT JOIN kept k USING (ord)
LEFT JOIN LATERAL (
    SELECT c.state FROM tidings_delivery.claims c
    WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day
      AND c.message_id = i.message_id AND c.resend_nonce = i.nonce
) x ON k.fence IS NULL" };

/// Commits that the first byte is about to go out.
pub(super) const START: Statement = Statement { name: "start", text: "
UPDATE tidings_delivery.claims c
SET state = 'started'
FROM unnest($3::int[], $4::uuid[], $5::text[], $6::bigint[]) WITH ORDINALITY AS i (day, message_id, nonce, fence, ord)
WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day AND c.message_id = i.message_id
  AND c.resend_nonce = i.nonce AND c.fence = i.fence AND c.owner = $2 AND c.state = 'claimed'
  AND c.lease_until > clock_timestamp()
RETURNING i.ord" };

/// Records ends. `delivered` is a fact, from any fence; the others need their fence, or a lease that ran out. A
/// settlement stays what it is, but who sent is noted beside it.
pub(super) const SETTLE: Statement = Statement { name: "settle", text: "
WITH input AS (
    SELECT * FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::int[], $9::int[], $10::text[], $11::text[])
        WITH ORDINALITY AS i (day, message_id, nonce, state, fence, attempts, call, platform_message_id, reason, ord)
), settled AS (
    UPDATE tidings_delivery.claims c
    SET state = CASE WHEN c.state IN ('claimed', 'started') THEN i.state ELSE c.state END,
        settled_at = coalesce(c.settled_at, clock_timestamp()),
        attempts = greatest(c.attempts, i.attempts),
        reason = coalesce(c.reason, nullif(i.reason, '')),
        platform_message_id = coalesce(c.platform_message_id, i.platform_message_id),
        sent_owner = CASE WHEN i.state = 'delivered' THEN $2 ELSE c.sent_owner END,
        sent_fence = CASE WHEN i.state = 'delivered' THEN i.fence ELSE c.sent_fence END,
        sent_attempt = CASE WHEN i.state = 'delivered' THEN i.call ELSE c.sent_attempt END
    FROM input i
    WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day AND c.message_id = i.message_id
      AND c.resend_nonce = i.nonce
      AND CASE WHEN c.state IN ('claimed', 'started')
               THEN i.state = 'delivered' OR c.fence = i.fence OR c.lease_until <= clock_timestamp()
               ELSE i.state = 'delivered' AND c.sent_owner IS NULL END
    RETURNING i.ord
)
SELECT i.ord, s.ord IS NOT NULL AS written, x.state AS found_state
FROM input i
LEFT JOIN settled s USING (ord)
LEFT JOIN LATERAL (
    SELECT c.state FROM tidings_delivery.claims c
    WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day
      AND c.message_id = i.message_id AND c.resend_nonce = i.nonce
) x ON s.ord IS NULL" };

/// Gives claims back with what is known of their attempts, so that the next owner neither waits for their leases nor
/// begins to count anew.
pub(super) const RELEASE: Statement = Statement { name: "release", text: "
UPDATE tidings_delivery.claims c
SET state = 'claimed', lease_until = clock_timestamp(), attempts = greatest(c.attempts, i.attempts),
    first_failed_at = coalesce(c.first_failed_at, timestamptz 'epoch' + make_interval(secs => i.first_failed_micros / 1e6))
FROM unnest($3::int[], $4::uuid[], $5::text[], $6::bigint[], $7::int[], $8::bigint[])
    AS i (day, message_id, nonce, fence, attempts, first_failed_micros)
WHERE c.consumer_name = $1 AND c.recorded_day = date '1970-01-01' + i.day AND c.message_id = i.message_id
  AND c.resend_nonce = i.nonce AND c.fence = i.fence AND c.owner = $2 AND c.state IN ('claimed', 'started')" };
