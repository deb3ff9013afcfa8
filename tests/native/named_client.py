#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""named_client.py HOW ADDRESS PORT WHAT [THEN STEPS] - a first payload of any shape, and what came of it

HOW     whole, split (in the middle, a moment between), byte (the first by itself), urgent (its last byte out of band), fastopen (in the SYN where there is a
        cookie), sendfile (from pages that this process keeps)
WHAT    tls:NAME, tls:NAME:SIZE (a hello of about that many bytes), tls: (no server name), or text (with \\r \\n \\t) as it is
THEN    with sendfile: what the pages are overwritten with once they are sent. STEPS.connected is made before, and STEPS.go waited for; then STEPS.sent

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


def bytes_of(what):
    if what.startswith("tls:"):
        name, _, size = what[4:].partition(":")
        return hello(name, int(size or 0))
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
        if how in ("split", "byte"):
            cut = 1 if how == "byte" else len(payload) // 2
            stream.send(payload[:cut])
            time.sleep(0.3)
            stream.send(payload[cut:])
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
