-- The business table of the examples: apply it once to the upstream database.

create table if not exists example_orders (
    id            text           primary key,
    customer_name text           not null,
    amount        numeric(18, 4) not null,
    currency      char(3)        not null,
    confirmed_at  timestamptz    not null
);
