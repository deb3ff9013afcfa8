#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""named_server.py LOG CERT KEY ADDRESS... - one host that stands for many names: TLS on 443 and 8443, HTTP on 80 and 8080, of each address

On 8443 it knows a curve of which no ordinary client sends a share unasked, so that it asks each for a second hello.

Answers `ok`, or with the files of the folder NAMED_FILES below /files/.

Writes JSON lines for each connection: `accept`, `payload` with the first bytes that came and the names that stand in them (as many as were there), `asked`
with the server name of a ClientHello, `served` with that name or the Host of the request. A connection that sends nothing leaves its `accept` and, at its
end, `silent`.
"""
import json
import os
import re
import socket
import ssl
import sys
import threading
import time

log = open(sys.argv[1], "a", buffering=1)
lock = threading.Lock()


def say(**what):
    with lock:
        log.write(json.dumps(what) + "\n")


def head_of(stream):
    text = b""
    while b"\r\n\r\n" not in text and len(text) < 65536:
        piece = stream.recv(65536)
        if not piece:
            break
        text += piece
    return text


def found(text):
    """What stands at the path that was asked for: status and content."""
    path = text.split(b" ", 2)[1].decode("latin-1").split("?")[0]
    if not path.startswith("/files/"):
        return "200 OK", b"ok\n"
    try:
        with open(os.environ["NAMED_FILES"] + path[6:], "rb") as file:
            return "200 OK", file.read()
    except OSError:
        return "404 Not Found", b""


def answer(stream, port, name):
    text = head_of(stream)
    hosts = [line[5:].strip().decode("latin-1") for line in text.split(b"\r\n") if line.lower().startswith(b"host:")]
    say(event="served", port=port, name=name if name is not None else (hosts or [""])[0], resumed=bool(getattr(stream, "session_reused", False)))
    status, content = found(text)
    stream.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)


def serve(connection, address, port, tls):
    try:
        connection.settimeout(20)
        try:
            first = connection.recv(65536, socket.MSG_PEEK)
        except OSError as error:
            say(event="silent", address=address, port=port, error=error.__class__.__name__)
            return
        if not first:
            say(event="silent", address=address, port=port, error="")
            return
        say(event="payload", address=address, port=port, size=len(first), start=first[:16].hex(),
            names=[name.decode() for name in re.findall(rb"[a-z]+\.example", first)])
        if tls:
            with contexts[port].wrap_socket(connection, server_side=True) as stream:
                answer(stream, port, getattr(stream, "asked_name", None) or "")
        else:
            answer(connection, port, None)
    except (OSError, ssl.SSLError, ValueError) as error:
        say(event="broken", address=address, port=port, error=str(error))
    finally:
        connection.close()


def listen(address, port, tls):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    server.bind((address, port))
    server.listen(64)

    def accept():
        while True:
            connection, _peer = server.accept()
            say(event="accept", address=address, port=port)
            threading.Thread(target=serve, args=(connection, address, port, tls), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def asked(stream, name, _context):
    say(event="asked", name=name)
    stream.asked_name = name


# One for all connections, so that a session of one is known to the next.
contexts = {443: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), 8443: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)}
for context in contexts.values():
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    context.sni_callback = asked
contexts[8443].set_ecdh_curve("secp521r1")
for each in sys.argv[4:]:
    for number, encrypted in ((443, True), (8443, True), (80, False), (8080, False)):
        listen(each, number, encrypted)
say(event="ready")
while True:
    time.sleep(3600)
