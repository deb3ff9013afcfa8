#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""verify_evidence.py PUBLIC-KEY FOLDER - one instance's evidence, checked from the published rules alone (docs/formats.md)

Needs python3-cryptography. Says "complete" and exits 0, or says what is wrong and exits 1.
"""
import base64, hashlib, json, os, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key

key = load_pem_public_key(open(sys.argv[1], "rb").read())
folder = sys.argv[2]


def once(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a member stands twice")
    return dict(pairs)


def parse(data):
    value = json.loads(data.decode("utf-8"), object_pairs_hook=once)
    if json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() != data:
        raise ValueError("not canonical")
    return value


def statement(name, domain):
    data = open(os.path.join(folder, name), "rb").read()
    signature = parse(open(os.path.join(folder, name + ".sig"), "rb").read())
    key.verify(base64.b64decode(signature["signature"], validate=True), domain.encode() + b"\n" + data)
    return parse(data), hashlib.sha256(data).hexdigest()


def learn(names, document):
    for row in sum(document.get("name_binding", {}).values(), []):
        if names.setdefault(row["name_id"], row["host"]) != row["host"]:
            raise ValueError(f"two names are number {row['name_id']}")


def verify():
    launch, launch_digest = statement("launch.json", "netcordon.launch.v1")
    closing, _ = statement("closing.json", "netcordon.closing.v1")
    last, count, kind, names = launch_digest, 0, None, {}
    learn(names, launch)
    log = open(os.path.join(folder, "events.jsonl"), "rb").read()
    if log and not log.endswith(b"\n"):
        raise ValueError("the last line is torn")
    for line in log.split(b"\n")[:-1]:
        record, count = parse(line), count + 1
        if record["sequence"] != count or record["previous"] != last:
            raise ValueError(f"record {count} does not follow the one before it")
        learn(names, record)
        if "name_binding" in launch and "name_id" in record and record.get("name", names.get(record["name_id"])) != names[record["name_id"]]:
            raise ValueError(f"record {count} speaks of a name otherwise than it is listed")
        last, kind = hashlib.sha256(line).hexdigest(), record["kind"]
    if closing["launch"] != launch_digest or any(closing[m] != launch[m] for m in ("instance", "generation", "boot_id", "manifest")):
        raise ValueError("the closing statement belongs to another launch")
    if (closing["count"], closing["last"], kind) != (count, last, "end"):
        raise ValueError("records are missing")
    if closing["losses"] != "0":
        raise ValueError("events were lost")


try:
    verify()
except (OSError, KeyError, ValueError, InvalidSignature) as error:
    sys.exit(f"{type(error).__name__}: {error}")
print("complete")
