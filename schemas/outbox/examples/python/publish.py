"""Confirms an order and publishes the event of it, in one transaction.

    python publish.py "$UPSTREAM" 42 python-1

example_orders must be there: apply ../orders.sql once.
"""

import secrets
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import psycopg
from psycopg.types.json import Json, Jsonb


def main() -> None:
    database, chat_id, order_id = sys.argv[1:]
    # The application's name is the producer that the event names.
    with psycopg.connect(database, application_name="shop") as connection:
        # The order and its event exist from the commit on, both or neither.
        with connection.transaction():
            message_id = confirm_order(connection, order_id, chat_id)
        print("published", message_id)

        # A transaction that is rolled back leaves nothing behind, so nothing is sent.
        with connection.transaction():
            message_id = confirm_order(connection, order_id + "-undone", chat_id)
            raise psycopg.Rollback
        print("rolled back", message_id)


def confirm_order(connection: psycopg.Connection, order_id: str, chat_id: str) -> UUID:
    """Writes the order and its event in the caller's transaction; returns the message id."""
    amount = Decimal("19.99")  # Money is never a float.
    confirmed_at = datetime.now(timezone.utc)
    connection.execute(
        "insert into example_orders values (%s, %s, %s, %s, %s)",
        [order_id, "Ada Lovelace", amount, "EUR", confirmed_at],
    )
    row = connection.execute(
        """
        select tidings.publish(
            event_type     => 'order.confirmed',
            event_version  => 1,
            data           => %(data)s,
            aggregate_type => 'order',
            aggregate_id   => %(order_id)s,
            destination    => %(destination)s,
            occurred_at    => %(occurred_at)s,
            expires_at     => %(expires_at)s,
            traceparent    => %(traceparent)s
        )
        """,
        {
            "data": Json({
                "order_id": order_id,
                "customer_name": "Ada Lovelace",
                "amount": str(amount),
                "currency": "EUR",
                "items": [{"sku": "TEA-1", "name": "Green tea", "quantity": 2}],
            }),
            "order_id": order_id,
            "destination": Jsonb({"platform": "telegram", "account": "main", "chat_id": chat_id}),
            "occurred_at": confirmed_at,
            "expires_at": confirmed_at + timedelta(days=1),  # Not sent after this.
            "traceparent": new_traceparent(),
        },
    ).fetchone()
    return row[0]


def new_traceparent() -> str:
    """Begins a trace; a service passes the traceparent of its current span (W3C Trace Context)."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


if __name__ == "__main__":
    main()
