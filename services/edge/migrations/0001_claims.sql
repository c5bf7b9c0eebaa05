-- Claims: the right to attempt a message, and what became of it (design §7).
-- Dropped by day, never deleted row by row, so that deduplication costs no vacuum of old days.

CREATE TABLE tidings_delivery.claims (
    consumer_name       text        NOT NULL,
    recorded_day        date        NOT NULL,
    message_id          uuid        NOT NULL,
    -- Empty for the first delivery; a replay operation's nonce for a deliberate second one.
    resend_nonce        text        NOT NULL DEFAULT '',
    state               text        NOT NULL,
    -- Counts the owners of this message: a write of an older fence is refused.
    fence               bigint      NOT NULL,
    owner               text        NOT NULL,
    lease_until         timestamptz NOT NULL,
    attempts            int         NOT NULL DEFAULT 0,
    first_failed_at     timestamptz,
    last_failed_at      timestamptz,
    settled_at          timestamptz,
    -- Who recorded `sent`: accepted from any fence, because it is a fact.
    sent_owner          text,
    sent_fence          bigint,
    sent_attempt        int,
    platform_message_id text,
    topic               text,
    partition           int,
    record_offset       bigint,
    reason              text,
    PRIMARY KEY (consumer_name, recorded_day, message_id, resend_nonce),
    CONSTRAINT claims_state CHECK (state IN (
        'claimed', 'started',
        'delivered', 'undeliverable', 'rejected', 'expired', 'dead_lettered', 'parked', 'discarded'
    )),
    CONSTRAINT claims_settled CHECK ((settled_at IS NULL) = (state IN ('claimed', 'started'))),
    CONSTRAINT claims_counts CHECK (fence >= 0 AND attempts >= 0)
) PARTITION BY RANGE (recorded_day);

COMMENT ON TABLE tidings_delivery.claims IS
    'One row a message and consumer: claim, lease, fence, settlement. Partitioned by the UTC day of recorded_at.';

-- Days without a partition of their own: records with a far date, and days nobody prepared.
-- A claim is updated two or three times; free space on the page keeps those updates out of the index.
CREATE TABLE tidings_delivery.claims_default PARTITION OF tidings_delivery.claims DEFAULT
    WITH (fillfactor = 70);

-- Bumped whenever a partition of a topic gets a new owner; claims read it FOR SHARE (design §7).
CREATE TABLE tidings_delivery.partition_epochs (
    consumer_name text   NOT NULL,
    topic         text   NOT NULL,
    partition     int    NOT NULL,
    epoch         bigint NOT NULL,
    PRIMARY KEY (consumer_name, topic, partition)
);

-- What each schema id means, so that a registry's outage stops nothing and a changed id is noticed (design §5).
CREATE TABLE tidings_delivery.schema_ids (
    registry_url text        NOT NULL,
    id           int         NOT NULL,
    -- SHA-256 of the schema's JSON with sorted keys and without white space.
    fingerprint  bytea       NOT NULL,
    schema       text        NOT NULL,
    stored_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (registry_url, id)
);
CREATE INDEX schema_ids_fingerprint ON tidings_delivery.schema_ids (registry_url, fingerprint);
