#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""named_client.py HOW ADDRESS PORT WHAT [THEN STEPS] - a first payload of any shape, and what came of it

HOW     whole, slow (at a rate at which the kernel sends two segments at a time), split (in the middle, a moment between), byte (the first by itself), late
        (what is before the name by itself), urgent (its last byte out of band), fastopen (in the SYN where there is a cookie), sendfile (from pages that this
        process keeps), again and again-apart (a hello without key shares, which the server answers by asking for another; apart: in a packet behind that of
        the change of ciphers), pieces (and ten sealed records of 37 bytes behind it, each by itself)
WHAT    tls:NAME, tls:NAME:SIZE (a hello of about that many bytes), tls:NAME:SIZE:NAME (with a second server name at its end), tls: (no server name), or text (with
        \\r \\n \\t) as it is
THEN    with sendfile: what the pages are overwritten with once they are sent. STEPS.connected is made before, and STEPS.go waited for; then STEPS.sent
        with again: the second hello

Prints `answer N`, or `ended ERRNO MILLISECONDS`, or `silence`; the exit status is 0, 1 or 2.
"""
import errno
import os
import socket
import ssl
import sys
import time

how, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def hello(name, size=0):
    context = ssl._create_unverified_context()
    if size > 600:
        context.set_alpn_protocols(["p" * 99] * ((size - 500) // 100))
    out = ssl.MemoryBIO()
    stream = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name or None)
    try:
        stream.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def extensions_of(text):
    """Where a hello's extensions begin, and each of them."""
    place = 44 + text[43]
    place += 2 + int.from_bytes(text[place:place + 2], "big")
    place += 1 + text[place] + 2
    begin, found = place, []
    while place < len(text):
        end = place + 4 + int.from_bytes(text[place + 2:place + 4], "big")
        found.append(text[place:end])
        place = end
    return begin, found


def with_extensions(text, change):
    begin, found = extensions_of(text)
    tail = b"".join(change(found))
    text = bytearray(text[:begin] + tail)
    text[begin - 2:begin] = len(tail).to_bytes(2, "big")
    text[3:5] = (len(text) - 5).to_bytes(2, "big")
    text[6:9] = (len(text) - 9).to_bytes(3, "big")
    return bytes(text)


def without_shares(text):
    return with_extensions(text, lambda found: [b"\x00\x33\x00\x02\x00\x00" if each[:2] == b"\x00\x33" else each for each in found])


def bytes_of(what):
    if what.startswith("tls:"):
        name, size, second = (what[4:].split(":") + ["", ""])[:3]
        text = hello(name, int(size or 0))
        if second:
            other = [each for each in extensions_of(hello(second))[1] if each[:2] == b"\0\0"]
            text = with_extensions(text, lambda found: found + other)
        return text
    return what.encode().decode("unicode_escape").encode("latin-1")


def step(name):
    with open(f"{sys.argv[6]}.{name}", "w", encoding="ascii"):
        pass


def handed(stream, payload):
    """By reference: the kernel keeps this file's own pages until the peer has them."""
    file = os.memfd_create("payload")
    os.write(file, payload)
    if len(sys.argv) > 6:
        step("connected")
        while not os.path.exists(f"{sys.argv[6]}.go"):
            time.sleep(0.02)
    os.sendfile(stream.fileno(), file, 0, len(payload))
    if len(sys.argv) > 6:
        os.pwrite(file, bytes_of(sys.argv[5]), 0)
        step("sent")


def once_more(stream, payload, then, apart):
    """The server asks for a second hello, and gets one."""
    stream.send(without_shares(payload))
    if stream.recv(65536)[5:6] != b"\x02":
        raise ValueError("the server did not ask again")
    if apart:
        stream.send(b"\x14\3\3\0\1\1")
        time.sleep(0.3)
        stream.send(then)
    else:
        stream.send(b"\x14\3\3\0\1\1" + then)


payload = bytes_of(sys.argv[4])
stream = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
stream.settimeout(10)
began = time.monotonic()
try:
    if how == "fastopen":
        stream.setblocking(True)
        stream.sendto(payload, socket.MSG_FASTOPEN, (address, port))
        stream.settimeout(10)
    else:
        stream.connect((address, port))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.monotonic()
        if how in ("split", "byte", "late"):
            cut = {"split": len(payload) // 2, "byte": 1, "late": payload.find(b".example") - 6}[how]
            stream.send(payload[:cut])
            time.sleep(0.3)
            stream.send(payload[cut:])
        elif how.startswith("again"):
            once_more(stream, payload, bytes_of(sys.argv[5]), how.endswith("apart"))
        elif how == "pieces":
            stream.send(payload)
            for _ in range(10):
                stream.send(b"\x17\3\3\0\x20" + bytes(32))
        elif how == "slow":
            stream.setsockopt(socket.SOL_SOCKET, 47, 200000)  # SO_MAX_PACING_RATE
            stream.send(payload)
        elif how == "urgent":
            stream.send(payload, socket.MSG_OOB)
        elif how == "sendfile":
            handed(stream, payload)
        else:
            stream.send(payload)
    answer = stream.recv(65536)
    print(f"answer {len(answer)}")
    sys.exit(0 if answer else 1)
except OSError as error:
    if isinstance(error, socket.timeout) and error.errno is None:  # ours; the kernel's has a number
        print("silence")
        sys.exit(2)
    print(f"ended {errno.errorcode.get(error.errno, error.errno)} {int((time.monotonic() - began) * 1000)}")
    sys.exit(1)
