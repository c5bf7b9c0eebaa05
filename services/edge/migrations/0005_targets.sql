-- Targets that are dead or moved, shared by all workers (design §8): later messages cost no call.
CREATE TABLE tidings_delivery.targets (
    platform      text        NOT NULL,
    -- The alias.
    account       text        NOT NULL,
    chat_id       text        NOT NULL,
    -- Empty for the whole chat.
    thread_id     text        NOT NULL DEFAULT '',
    -- 'alive': it was one of the other two; kept for a day, so that every worker hears of it.
    kind          text        NOT NULL CHECK (kind IN ('dead', 'migrated', 'alive')),
    -- Where a migrated chat lives on.
    new_chat_id   text        CHECK ((new_chat_id IS NOT NULL) = (kind = 'migrated')),
    -- The platform's words, or an operator's.
    reason        text        NOT NULL,
    since         timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When a message probes a dead one; NULL: when an operator clears it.
    next_probe_at timestamptz CHECK (next_probe_at IS NULL OR kind = 'dead'),
    -- Probes that found it dead.
    probes        int         NOT NULL DEFAULT 0,
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (platform, account, chat_id, thread_id)
);
CREATE INDEX targets_changed ON tidings_delivery.targets (changed_at);
