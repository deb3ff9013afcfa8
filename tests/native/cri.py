#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
cri.py SOCKET METHOD - calls a container engine as Kubernetes does: one method of the Container Runtime Interface, v1 (runtime.v1.RuntimeService)

The request is JSON on standard input, its members named by the numbers of the interface's fields: {"1": {"4": 2}} is field 1, a message whose field 4 is 2. A
list is a repeated field, a boolean a number; a map is a list of {"1": key, "2": value}. The answer is printed the same way: each field a list, bytes that are no
text as they are, those that could be a message also taken apart (member "N?"). Only what these tests ask for. Status 1, and the engine's words, when it refuses.
"""
import json
import sys

import grpc


def number(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def encode(message):
    out = b""
    for field, values in message.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                out += number(int(field) << 3) + number(value)
            else:
                value = encode(value) if isinstance(value, dict) else value.encode()
                out += number(int(field) << 3 | 2) + number(len(value)) + value
    return out


def take(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if not byte & 0x80:
            return value, at


def decode(data):
    message, at = {}, 0
    while at < len(data):
        key, at = take(data, at)
        value, at = take(data, at)
        if key & 7 == 2:
            if at + value > len(data):
                raise ValueError("cut off")
            raw, at = data[at : at + value], at + value
            value = raw.decode(errors="replace")
            try:
                message.setdefault(f"{key >> 3}?", []).append(decode(raw))
            except (ValueError, IndexError):
                pass
        elif key & 7 != 0:
            raise ValueError("neither a number nor bytes")
        message.setdefault(str(key >> 3), []).append(value)
    return message


def main():
    with grpc.insecure_channel("unix:" + sys.argv[1]) as channel:
        call = channel.unary_unary("/runtime.v1.RuntimeService/" + sys.argv[2])
        try:
            answer = call(encode(json.load(sys.stdin)), timeout=60, wait_for_ready=True)
        except grpc.RpcError as error:
            sys.exit(error.details())
    print(json.dumps(decode(answer)))


main()
