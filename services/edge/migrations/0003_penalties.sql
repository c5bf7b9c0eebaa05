-- Long penalties with their end by this database's clock, so that they outlive every worker and the rate-limit topic
-- (design §9): a platform's 429 that asks for more than a minute. Telegram's reach 14 days.
CREATE TABLE tidings_delivery.penalties (
    -- What is held. 'unnamed': the platform named nothing; the chat, and maybe the account.
    kind        text        NOT NULL CHECK (kind IN ('chat', 'account', 'address', 'unnamed')),
    -- The limit scope (telegram:main); for an address the platform.
    scope       text        NOT NULL,
    -- The chat id; empty unless a chat is held.
    chat        text        NOT NULL CHECK ((chat <> '') = (kind IN ('chat', 'unnamed'))),
    penalty_id  uuid        NOT NULL,
    ends_at     timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (kind, scope, chat)
);
