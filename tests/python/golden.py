"""Reads messages with fastavro alone: the schema as it is registered, the bytes as they are in `schemas/`.

Reads JSON lines {"schema", "hex"} from the file named first, and writes for each a line {"decoded", "hex"} to standard
output: what was read, and the bytes that fastavro makes of it again.
"""

import datetime
import decimal
import io
import json
import sys
import uuid

import fastavro


def plain(value):
    """The value as JSON that loses nothing: exact decimals and times as texts."""
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            golden = json.loads(line)
            schema = fastavro.parse_schema(json.loads(golden["schema"]))
            body = io.BytesIO(bytes.fromhex(golden["hex"]))
            message = fastavro.schemaless_reader(body, schema)
            if body.read():
                raise SystemExit("bytes are left over")
            again = io.BytesIO()
            fastavro.schemaless_writer(again, schema, message)
            print(json.dumps({"decoded": plain(message), "hex": again.getvalue().hex()}))


main()
