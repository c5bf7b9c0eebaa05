-- Confirms an order and publishes the event of it, in one transaction:
--   psql "$UPSTREAM" -X -q -v chat_id=42 -v order_id=psql-1 -f publish.sql
-- example_orders must be there: apply ../orders.sql once.

-- Without it psql would go on after an error, and commit what is left.
\set ON_ERROR_STOP on
\pset tuples_only on
\pset format unaligned

-- The producer that the event names.
set application_name = 'shop';

-- A service passes the traceparent of its current span (W3C Trace Context); here a trace begins.
select '00-' || replace(gen_random_uuid()::text, '-', '') || '-'
            || right(replace(gen_random_uuid()::text, '-', ''), 16) || '-01' as traceparent \gset

-- 1. The order and its event exist from the commit on, both or neither.
begin;

insert into example_orders values (:'order_id', 'Ada Lovelace', 19.99, 'EUR', now());

-- json_build_object writes a numeric digit by digit; money never passes through a float.
select tidings.publish(
    event_type     => 'order.confirmed',
    event_version  => 1,
    data           => json_build_object(
        'order_id', id, 'customer_name', customer_name, 'amount', amount, 'currency', currency,
        'items', json_build_array(json_build_object('sku', 'TEA-1', 'name', 'Green tea', 'quantity', 2))),
    aggregate_type => 'order',
    aggregate_id   => id,
    destination    => jsonb_build_object('platform', 'telegram', 'account', 'main', 'chat_id', :'chat_id'),
    occurred_at    => confirmed_at,
    expires_at     => confirmed_at + interval '1 day', -- not sent after this
    traceparent    => :'traceparent'
) as message_id
from example_orders where id = :'order_id' \gset

commit;
\echo published :message_id

-- 2. A transaction that is rolled back leaves nothing behind, so nothing is sent.
begin;

insert into example_orders values (:'order_id' || '-undone', 'Ada Lovelace', 19.99, 'EUR', now());

select tidings.publish(
    event_type     => 'order.confirmed',
    event_version  => 1,
    data           => json_build_object(
        'order_id', id, 'customer_name', customer_name, 'amount', amount, 'currency', currency,
        'items', json_build_array()),
    aggregate_type => 'order',
    aggregate_id   => id,
    destination    => jsonb_build_object('platform', 'telegram', 'account', 'main', 'chat_id', :'chat_id')
) as message_id
from example_orders where id = :'order_id' || '-undone' \gset

rollback;
\echo 'rolled back' :message_id
