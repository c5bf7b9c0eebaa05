-- Deferred chats: their messages wait here, in order, so that neither a partition nor memory waits with them (design §8).

-- The marker: while it exists, every record of the chat in that lane partition is written behind.
CREATE TABLE tidings_delivery.deferred_chats (
    consumer_name  text        NOT NULL,
    topic          text        NOT NULL,
    partition      int         NOT NULL,
    -- The chat key platform:account:chat_id.
    chat           text        NOT NULL,
    -- When its messages are tried again; NULL: when an operator lets go.
    due_at         timestamptz,
    -- Why it waits, for people.
    reason         text        NOT NULL,
    deferred_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Set by an operator's change; cleared by the partition's owner once it has seen it.
    changed_at     timestamptz,
    -- An operator gives its messages up, for this reason.
    give_up_reason text,
    PRIMARY KEY (consumer_name, topic, partition, chat),
    CONSTRAINT deferred_chats_give_up CHECK (give_up_reason <> '')
);
CREATE INDEX deferred_chats_changed ON tidings_delivery.deferred_chats (consumer_name, topic, partition)
    WHERE changed_at IS NOT NULL;

-- The records, byte for byte.
CREATE TABLE tidings_delivery.deferred_messages (
    consumer_name           text        NOT NULL,
    topic                   text        NOT NULL,
    partition               int         NOT NULL,
    record_offset           bigint      NOT NULL,
    chat                    text        NOT NULL,
    message_id              uuid        NOT NULL,
    resend_nonce            text        NOT NULL,
    -- The UTC day of recorded_at, as in the claims.
    recorded_day            date        NOT NULL,
    record_key              bytea,
    record_value            bytea       NOT NULL,
    -- In order, repeated and null ones kept; see the dispatcher's deferral/headers.rs.
    record_headers          bytea       NOT NULL,
    record_timestamp_millis bigint,
    event_type              text        NOT NULL,
    deferred_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer_name, topic, partition, record_offset),
    -- A second record of a message waits for nothing of its own.
    UNIQUE (consumer_name, topic, partition, message_id, resend_nonce),
    -- A row without its marker would never be loaded: whatever the order of statements, there is none.
    FOREIGN KEY (consumer_name, topic, partition, chat) REFERENCES tidings_delivery.deferred_chats
);
CREATE INDEX deferred_messages_order
    ON tidings_delivery.deferred_messages (consumer_name, topic, partition, chat, record_offset);
