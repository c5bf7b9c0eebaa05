"""Reads a lane with Confluent's own client and prints one JSON line a record.

    python decode_lane.py --brokers "$KAFKA" --registry "$REGISTRY" --topic tidings.telegram.normal

The whole envelope is printed, `data` included: decimals as exact text (19.9900), times as RFC 3339 in UTC with
microseconds. It goes on until Ctrl-C; with --until-end, until it has read all that there is.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from uuid import UUID

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka.error import SerializationError
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

POLL_SECONDS = 0.5


def main() -> None:
    options = parse_options()
    # Without a reader's schema a record is decoded by the one that it was written with: its id is in the record's
    # first bytes, and the registry has the schema.
    decode = AvroDeserializer(SchemaRegistryClient({"url": options.registry}))
    consumer = Consumer({
        "bootstrap.servers": options.brokers,
        "group.id": options.group,
        "auto.offset.reset": "earliest",
        # An offset is committed only after its record was handled: store_offsets below.
        "enable.auto.offset.store": False,
        "enable.partition.eof": options.until_end,
    })
    consumer.subscribe([options.topic])
    try:
        for message in messages(consumer):
            handle(decode, message)
            consumer.store_offsets(message)
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()  # Commits what was stored, and leaves the group at once.


def messages(consumer: Consumer) -> Iterator[Message]:
    """The lane's records, until each partition's end has been seen where the consumer reports it."""
    ended = set()
    while True:
        message = consumer.poll(POLL_SECONDS)
        if message is None:
            continue
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
            if ended >= {assigned.partition for assigned in consumer.assignment()}:
                return
        else:
            raise KafkaException(error)


def handle(decode: AvroDeserializer, message: Message) -> None:
    """Where a real consumer does its work. Expect a record twice now and then: `message_id` says which it is."""
    try:
        envelope = decode(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
    except SerializationError as error:
        # One broken record must not stop those behind it.
        print(f"{message.topic()}[{message.partition()}]@{message.offset()}: {error}", file=sys.stderr)
        return
    print(json.dumps(envelope, default=as_text, ensure_ascii=False), flush=True)


def as_text(value: Decimal | datetime | UUID) -> str:
    """What JSON has no type for."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} in a record")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Prints one JSON line for each record of a lane.")
    parser.add_argument("--brokers", required=True, help="host:port of Kafka")
    parser.add_argument("--registry", required=True, help="URL of the schema registry (Confluent's API)")
    parser.add_argument("--topic", required=True, help="the lane, for example tidings.telegram.normal")
    parser.add_argument("--group", default="decode-lane-example", help="the consumer group (default: %(default)s)")
    parser.add_argument("--until-end", action="store_true", help="end when everything there is has been read")
    return parser.parse_args()


if __name__ == "__main__":
    main()
