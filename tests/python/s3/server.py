"""An S3 server on loopback that checks signatures and rights, for tests: moto, with a bucket, and a user who may use it.

Prints one line of JSON once it serves: endpoint, bucket, access_key_id, secret_access_key. Ends when its input does.
"""

import json
import logging
import sys
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "contents"
RIGHTS = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:PutObject", "s3:ListBucket"],
            "Resource": [f"arn:aws:s3:::{BUCKET}", f"arn:aws:s3:::{BUCKET}/*"],
        }
    ],
}


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    reader, sys.stdout = sys.stdout, sys.stderr  # the web framework greets whoever listens
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    key = prepare(endpoint)
    # From here on every request must be signed by a key with the right to make it.
    strict = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
    urllib.request.urlopen(strict).close()
    said = {
        "endpoint": endpoint,
        "bucket": BUCKET,
        "access_key_id": key["AccessKeyId"],
        "secret_access_key": key["SecretAccessKey"],
    }
    print(json.dumps(said), file=reader, flush=True)
    sys.stdin.read()
    server.stop()


def prepare(endpoint):
    settings = {
        "endpoint_url": endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": "anybody",
        "aws_secret_access_key": "anybody",
    }
    iam = boto3.client("iam", **settings)
    iam.create_user(UserName="tidings")
    iam.put_user_policy(UserName="tidings", PolicyName="contents", PolicyDocument=json.dumps(RIGHTS))
    boto3.client("s3", **settings).create_bucket(Bucket=BUCKET)
    return iam.create_access_key(UserName="tidings")["AccessKey"]


if __name__ == "__main__":
    main()
