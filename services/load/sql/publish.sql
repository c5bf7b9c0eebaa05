-- One event and its ledger row in one statement. The moment is read before publish writes the outbox row (or waits for
-- the lock of the chat); the lock's ordinal is drawn after it. The order's id is aggregate, correlation and marker.
with moment as materialized (
    select clock_timestamp() as inserted_at
), published as materialized (
    select inserted_at, tidings.publish(
        event_type         => $1::text,
        event_version      => $2::int,
        data               => $3::text::json,
        aggregate_type     => 'order',
        aggregate_id       => $4::text,
        destination        => $5::text::jsonb,
        priority           => $6::text,
        aggregate_sequence => $7::bigint,
        correlation_id     => $4::text,
        traceparent        => $8::text
    ) as message_id
    from moment
)
insert into load.ledger (message_id, run, tx, ordinal, lane, chat, event_type, marker, expect, inserted_at, lock_ordinal)
select message_id, $9::text, $10::bigint, $11::int, $6::text, $12::text, $1::text, $4::text, $13::text, inserted_at,
       case when $14::boolean then nextval('load.lock_ordinals') end
from published
returning message_id
