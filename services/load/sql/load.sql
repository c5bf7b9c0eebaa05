-- The load program's tables in the upstream database. It applies this file at each start.

-- Two programs that start at once would both make the schema.
select pg_advisory_xact_lock(7233954621);

create schema if not exists load;

-- The business rows.
create table if not exists load.orders (
    order_id      text        primary key,
    run           text        not null,
    chat_id       text        not null,
    customer_name text        not null,
    amount        numeric     not null,
    currency      text        not null,
    status        text        not null check (status in ('confirmed', 'shipped'))
);

-- One row an event, written in its business transaction: it is there exactly if the event was committed.
create table if not exists load.ledger (
    message_id   uuid        primary key,
    run          text        not null,
    tx           bigint      not null,
    ordinal      int         not null,
    lane         text        not null check (lane in ('high', 'normal')),
    chat         text        not null,
    event_type   text        not null,
    marker       text        not null,
    expect       text        not null check (expect in ('posted', 'rejected')),
    -- Read before the outbox row was written, so that "committed before this row was inserted" is never claimed wrongly.
    inserted_at  timestamptz not null default clock_timestamp(),
    -- The place among rows published under the lock of their chats; null without the lock.
    lock_ordinal bigint
);
-- Only where it is missing: even so it would wait for every transaction that another load holds open, and they for it.
do $$
begin
    if to_regclass('load.ledger_run_tx') is null then
        create index ledger_run_tx on load.ledger (run, tx);
    end if;
end $$;
create sequence if not exists load.lock_ordinals;

-- A moment after each commit, written in a transaction of its own.
create table if not exists load.commits (
    run          text        not null,
    tx           bigint      not null,
    committed_at timestamptz not null default clock_timestamp(),
    primary key (run, tx)
);

-- Messages whose transactions were rolled back, written in a transaction of its own: nobody may see them.
create table if not exists load.rolled_back (
    message_id     uuid        primary key,
    run            text        not null,
    chat           text        not null,
    event_type     text        not null,
    rolled_back_at timestamptz not null default clock_timestamp()
);
