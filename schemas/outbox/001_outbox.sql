-- The outbox of one upstream database: apply it as the role that shall own it, in one transaction (`tidings migrate`, or
-- psql -1 -f). It may be applied repeatedly, and brings an older outbox up to date.
-- An upstream service needs EXECUTE on tidings.publish and nothing else; the relay needs the grants at the end.
-- PostgreSQL 14 or later (the relay sets idle_session_timeout on its sessions).

create schema if not exists tidings;

-- One row an event, until the relay has the broker's acknowledgement of it.
-- `json`, not `jsonb`: syntax is checked here, numbers and U+0000 escapes stay as upstream wrote them.
create table if not exists tidings.outbox (
    id                 bigint generated always as identity (cache 1) primary key,
    message_id         uuid        not null,
    event_type         text        not null,
    event_version      int         not null,
    data               json        not null,
    data_bytes         int         not null,
    aggregate_type     text        not null,
    aggregate_id       text        not null,
    aggregate_sequence bigint,
    platform           text,
    account            text,
    chat_id            text,
    thread_id          text,
    priority           text        not null check (priority in ('high', 'normal')),
    occurred_at        timestamptz not null,
    recorded_at        timestamptz not null,
    expires_at         timestamptz,
    correlation_id     text,
    causation_id       text,
    traceparent        text,
    producer           text        not null,
    shard_hash         int         not null check (shard_hash >= 0),
    claim_check        jsonb
);

-- A queue: every row dies young. Vacuum by a fixed count instead of a share of the table, without pauses, and never
-- give pages back, which would need a lock that stops upstream's inserts.
alter table tidings.outbox set (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000,
    toast.autovacuum_vacuum_cost_delay = 0, toast.vacuum_truncate = off
);

-- Rows that cannot become an envelope, with the reason; the truth that <prefix>.relay.dead-letter is fed from.
create table if not exists tidings.outbox_rejected (
    id                 bigint      primary key,
    message_id         uuid        not null,
    event_type         text        not null,
    event_version      int         not null,
    data               json        not null,
    data_bytes         int         not null,
    aggregate_type     text        not null,
    aggregate_id       text        not null,
    aggregate_sequence bigint,
    platform           text,
    account            text,
    chat_id            text,
    thread_id          text,
    priority           text        not null,
    occurred_at        timestamptz not null,
    recorded_at        timestamptz not null,
    expires_at         timestamptz,
    correlation_id     text,
    causation_id       text,
    traceparent        text,
    producer           text        not null,
    shard_hash         int         not null,
    code               text        not null,
    field              text,
    reason             text        not null,
    rejected_at        timestamptz not null default clock_timestamp(),
    fed_at             timestamptz,
    claim_check        jsonb
);

-- Columns that tables of an earlier version lack. Adding one waits for open transactions that published, and holds up
-- those that want to: rather than do that for long it fails, and is to be applied again.
do $$
declare
    lacking text;
    usual   constant text := current_setting('lock_timeout');
begin
    foreach lacking in array array['outbox', 'outbox_rejected'] loop
        if not exists (select from pg_attribute where attrelid = ('tidings.' || lacking)::regclass
                       and attname = 'claim_check' and not attisdropped) then
            perform set_config('lock_timeout', '2s', true);
            execute format('alter table tidings.%I add column claim_check jsonb', lacking);
            perform set_config('lock_timeout', usual, true);
        end if;
    end loop;
end
$$;

-- Keeps the search for rows to feed cheap however many rejected rows are kept.
create index if not exists outbox_rejected_unfed on tidings.outbox_rejected (id) where fed_at is null;

-- How many shards the relays divide the outbox into. A change takes effect while they run: each lets go of the old
-- shards before anyone takes a new one.
create table if not exists tidings.outbox_settings (
    single boolean primary key default true check (single),
    shards int     not null default 2 check (shards between 1 and 256)
);
insert into tidings.outbox_settings default values on conflict do nothing;

-- A UUID of version 7 (RFC 9562): 48 bits of milliseconds, then randomness. Bits 52 and 53 turn version 4 into 7.
create or replace function tidings.uuid_v7() returns uuid
language sql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select encode(set_bit(set_bit(overlay(
        uuid_send(gen_random_uuid())
        placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- Which shard a key belongs to, before the modulus: 0 … 2^31 − 1. Of md5, because a documented function gives one
-- key one shard across versions of PostgreSQL too.
create or replace function tidings.shard_hash(key text) returns int
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select ('x' || substr(md5(key), 1, 8))::bit(32)::int & 2147483647
$$;

-- What is wrong with a destination, or null. `->>` of a number is its text, so 42 and "42" are the same chat.
create or replace function tidings.destination_fault(destination jsonb) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case
        when jsonb_typeof(destination) <> 'object' then 'destination is not an object'
        when exists (select from jsonb_object_keys(destination) k
                     where k not in ('platform', 'account', 'chat_id', 'thread_id'))
            then format('destination has an unknown key "%s"', left((
                select k from jsonb_object_keys(destination) k
                where k not in ('platform', 'account', 'chat_id', 'thread_id') limit 1), 100))
        when exists (select from jsonb_each(destination) e where jsonb_typeof(e.value) not in ('string', 'number', 'null'))
            then 'destination holds something else than text'
        when coalesce(destination ->> 'platform', '') !~ '^[a-z][a-z0-9_-]{0,49}$'
            then 'destination.platform is missing or not a lower-case name'
        when coalesce(destination ->> 'account', 'main') !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$'
            then 'destination.account is not an alias'
        when coalesce(destination ->> 'chat_id', '') = '' then 'destination.chat_id is missing'
        when length(destination ->> 'chat_id') > 256 then 'destination.chat_id is longer than 256 characters'
        when length(destination ->> 'thread_id') > 256 then 'destination.thread_id is longer than 256 characters'
    end
$$;

-- What is wrong with the rest of an event, as {message, hint}, or null. What needs the event types' catalogue (type,
-- version, fields, sizes) is the relay's to judge: an order is not lost to a character in a text.
create or replace function tidings.event_fault(
    event_type text, event_version int, data json, aggregate_type text, aggregate_id text, priority text, traceparent text
) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case
        when coalesce(event_type, '') = '' or length(event_type) > 200
            then array['event_type is missing or longer than 200 characters', 'Name the event in the past tense, like order.confirmed.']
        when event_version is null or event_version < 1
            then array['event_version is not a positive number', 'Pass the major version of the event type, from 1.']
        when data is null
            then array['data is null', 'Pass a JSON object with the fields of the event type.']
        when coalesce(aggregate_type, '') = '' or length(aggregate_type) > 200
            then array['aggregate_type is missing or longer than 200 characters', 'Name what the event is about, like order.']
        when coalesce(aggregate_id, '') = '' or length(aggregate_id) > 256
            then array['aggregate_id is missing or longer than 256 characters', 'Pass the id of what the event is about, as text.']
        when priority is not null and priority not in ('high', 'normal')
            then array[format('priority is "%s"', left(priority, 50)), 'Pass high or normal.']
        when traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
             or traceparent like 'ff-%' or substr(traceparent, 4, 32) = repeat('0', 32) or substr(traceparent, 37, 16) = repeat('0', 16)
            then array['traceparent is malformed', 'Pass a W3C trace context, like 00-<32 hex digits>-<16 hex digits>-01, or null.']
    end
$$;

-- What is wrong with a claim check, as {message, hint}, or null. Its key is the object's name in a store that the
-- consumer reads under its own identity: a link, presigned or not, is refused (requirement B7). The greatest size is
-- that of one upload to S3; a consumer's own bound is lower.
create or replace function tidings.claim_check_fault(claim_check jsonb) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
    select case
        when jsonb_typeof(claim_check) <> 'object'
            then array['claim_check is not an object', shape]
        when exists (select from jsonb_object_keys(claim_check) k
                     where k not in ('storage_key', 'content_type', 'size_bytes', 'sha256'))
            then array[format('claim_check has an unknown key "%s"', left((
                select k from jsonb_object_keys(claim_check) k
                where k not in ('storage_key', 'content_type', 'size_bytes', 'sha256') limit 1), 100)), shape]
        when jsonb_typeof(claim_check -> 'storage_key') is distinct from 'string' or storage_key = ''
            then array['claim_check.storage_key is missing or not text', shape]
        when octet_length(storage_key) > 1024
            then array['claim_check.storage_key is longer than 1024 bytes', 'Store the content under a shorter key.']
        when storage_key like '%://%' or storage_key like '%?%'
            then array['claim_check.storage_key is a link', 'Pass the object''s name in the store, without scheme, host and query: links are credentials.']
        when storage_key ~ '(^|/)(\.{1,2})?(/|$)'
            then array['claim_check.storage_key has an empty, "." or ".." part', 'Pass a name like notices/2026/terms.txt.']
        when storage_key ~ '[\u0001-\u001f\u007f-\u009f]'
            then array['claim_check.storage_key has a control character', 'Store the content under a plain name.']
        when jsonb_typeof(claim_check -> 'content_type') is distinct from 'string'
             or claim_check ->> 'content_type' !~ '^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*( *;[ -~]*)?$'
             or length(claim_check ->> 'content_type') > 256
            then array['claim_check.content_type is missing or not a media type', 'Pass the media type of the content, like text/plain.']
        when jsonb_typeof(claim_check -> 'size_bytes') is distinct from 'number'
             or claim_check ->> 'size_bytes' !~ '^[1-9][0-9]{0,9}$'
            then array['claim_check.size_bytes is not a whole number from 1', 'Pass the length of the content in bytes.']
        when (claim_check ->> 'size_bytes')::bigint > 5368709120
            then array['claim_check.size_bytes is more than 5368709120', 'Store less under one key.']
        when jsonb_typeof(claim_check -> 'sha256') is distinct from 'string' or claim_check ->> 'sha256' !~ '^[0-9a-f]{64}$'
            then array['claim_check.sha256 is not 64 lower-case hexadecimal digits', 'Pass what sha256sum prints for the content.']
    end
    from (select claim_check ->> 'storage_key' as storage_key,
        'Pass {"storage_key": "notices/terms.txt", "content_type": "text/plain", "size_bytes": 4711, "sha256": "<64 hex digits>"}, as `tidings claim-check put` prints it.'
        as shape) said
$$;

-- Publishes one event in the caller's transaction and returns its message id.
--
-- With a destination {platform, account?, chat_id, thread_id?} it goes to that platform's lane of `priority`, without
-- one to the topic of the stream `aggregate_type`. Settings it reads: `tidings.producer` (else application_name, else the
-- session's user) names the producer; `tidings.lock_chat` = on makes transactions of one chat wait for each other, so
-- that those which overlap have an order too.
--
-- Content that is too large for `data` goes by reference: `claim_check` {storage_key, content_type, size_bytes, sha256}
-- names an object in the store that the consumers read; it must stay there for as long as the message may be replayed.
create or replace function tidings.publish(
    event_type text, event_version int, data json, aggregate_type text, aggregate_id text,
    destination jsonb default null, priority text default 'normal', aggregate_sequence bigint default null,
    occurred_at timestamptz default now(), expires_at timestamptz default null,
    correlation_id text default null, causation_id text default null, traceparent text default null,
    message_id uuid default null, claim_check jsonb default null
) returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    fault   text[];
    account text;
    hash    int;
    id      uuid := coalesce(message_id, tidings.uuid_v7());
begin
    -- The relay's cursor relies on this order: first the transaction's id, then the row's.
    perform pg_current_xact_id();

    fault := tidings.event_fault(event_type, event_version, data, aggregate_type, aggregate_id, priority, traceparent);
    if fault is null and destination is not null and tidings.destination_fault(destination) is not null then
        fault := array[tidings.destination_fault(destination),
            'Pass {"platform": "telegram", "account": "main", "chat_id": "42"}, and "thread_id" if the chat has threads.'];
    end if;
    if fault is null and claim_check is not null then
        fault := tidings.claim_check_fault(claim_check);
    end if;
    if fault is not null then
        raise exception using errcode = 'invalid_parameter_value', message = 'tidings.publish: ' || fault[1], hint = fault[2];
    end if;

    if destination is null then
        hash := tidings.shard_hash(aggregate_type || ':' || aggregate_id);
    else
        account := coalesce(destination ->> 'account', 'main');
        hash := tidings.shard_hash((destination ->> 'platform') || ':' || account || ':' || (destination ->> 'chat_id'));
    end if;
    if current_setting('tidings.lock_chat', true) = 'on' then
        perform pg_advisory_xact_lock(1953064963, hash);
    end if;

    insert into tidings.outbox (
        message_id, event_type, event_version, data, data_bytes, aggregate_type, aggregate_id, aggregate_sequence,
        platform, account, chat_id, thread_id, priority, occurred_at, recorded_at, expires_at,
        correlation_id, causation_id, traceparent, producer, shard_hash, claim_check
    ) values (
        id, event_type, event_version, data, octet_length(data::text), aggregate_type, aggregate_id, aggregate_sequence,
        destination ->> 'platform', account, destination ->> 'chat_id', destination ->> 'thread_id',
        coalesce(priority, 'normal'), coalesce(occurred_at, now()), clock_timestamp(), expires_at,
        correlation_id, causation_id, traceparent,
        coalesce(nullif(current_setting('tidings.producer', true), ''), nullif(current_setting('application_name'), ''), session_user),
        hash, claim_check
    );
    return id;
end
$$;

-- The publish of before claim checks would make calls ambiguous. Who might call it may call the new one.
do $$
declare
    old     constant oid := to_regprocedure('tidings.publish(text, int, json, text, text, jsonb, text, bigint, timestamptz, timestamptz, text, text, text, uuid)');
    grantee oid;
begin
    if old is not null then
        for grantee in
            select acl.grantee from pg_proc, aclexplode(proacl) acl
            where pg_proc.oid = old and acl.privilege_type = 'EXECUTE' and acl.grantee <> 0
        loop
            execute format('grant execute on function tidings.publish(text, int, json, text, text, jsonb, text, bigint, timestamptz, timestamptz, text, text, text, uuid, jsonb) to %s', grantee::regrole);
        end loop;
        execute format('drop function %s', old::regprocedure);
    end if;
end
$$;

revoke all on schema tidings from public;
revoke all on all tables in schema tidings from public;
revoke all on all functions in schema tidings from public;

-- Two roles without login, to be granted to an upstream service and to the relay. Where this role may not create
-- roles, create and grant them by hand; the owner can do everything without them.
do $$
declare
    wanted text;
begin
    foreach wanted in array array['tidings_publisher', 'tidings_relay'] loop
        begin
            if not exists (select from pg_roles where rolname = wanted) then
                execute format('create role %I nologin', wanted);
            end if;
        exception when insufficient_privilege or duplicate_object or unique_violation then
            raise notice 'role % was not created: %', wanted, sqlerrm;
        end;
    end loop;
    if exists (select from pg_roles where rolname = 'tidings_publisher') then
        grant usage on schema tidings to tidings_publisher;
        grant execute on function tidings.publish to tidings_publisher;
    end if;
    if exists (select from pg_roles where rolname = 'tidings_relay') then
        grant usage on schema tidings to tidings_relay;
        grant select, delete on tidings.outbox to tidings_relay;
        grant select, insert, update on tidings.outbox_rejected to tidings_relay;
        grant select on tidings.outbox_settings to tidings_relay;
    end if;
end
$$;
