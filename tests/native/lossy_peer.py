#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""lossy_peer.py LOG DEVICE MAC ADDRESS PORT [NAME=VALUE...] - a TCP peer of its own making, which loses, tears and delays what comes to it

It speaks IPv4 over a packet socket on DEVICE to the neighbour MAC, for an ADDRESS that nobody in its network namespace has. It takes one connection after the
other. The peer has all of a connection when the first TLS record (or the head of a request) and `extra` bytes behind it are there; it then answers `ok` and ends.

mss=N          what it says in its SYN                        window=N    how much it takes at a time before it has something; 0: nothing until it was probed
drop=N,N       of the segments with payload these are lost    cut=N       of the first segment that comes only N bytes are acknowledged, the rest is lost
ptb=N          a router on the way takes packets of N bytes: the first longer one of each connection is lost, and it says so (ICMP, fragmentation needed)
extra=N        see above                                      sack=0      holes are not told
again=1        the first record is answered by a record, as a server does that asks for another hello

JSON lines: ready, then for each connection `open`, `part` {at, size, lost} for each segment with payload, `whole` {size}.
"""
import json
import socket
import struct
import sys

log = open(sys.argv[1], "a", buffering=1)
device, mac = sys.argv[2], bytes.fromhex(sys.argv[3].replace(":", ""))
address, port = socket.inet_aton(sys.argv[4]), int(sys.argv[5])
how = dict(each.split("=") for each in sys.argv[6:])
lost = {int(each) for each in how.get("drop", "").split(",") if each}
wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
wire.bind((device, 0x0800))
ISN = 1000


def number(name, default):
    return int(how.get(name, default))


def say(**what):
    log.write(json.dumps(what) + "\n")


def total(data):
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    value = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while value >> 16:
        value = (value & 0xFFFF) + (value >> 16)
    return ~value & 0xFFFF


def send_ip(to, protocol, body):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0, address, to)
    head = head[:10] + struct.pack("!H", total(head)) + head[12:]
    wire.sendto(head + body, (device, 0x0800, 0, 0, mac))


class Connection:
    def __init__(self, peer, peer_port, seq):
        self.peer, self.peer_port = peer, peer_port
        self.begin = self.next = (seq + 1) & 0xFFFFFFFF
        self.sent = ISN
        self.text, self.parts, self.count = b"", {}, 0
        self.told = self.done = self.answered = False
        say(event="open")
        options = struct.pack("!BBHBB", 2, 4, number("mss", 1460), 4, 2) + b"\1\1"
        self.send(0x12, options)
        self.sent += 1

    def window(self):
        return number("window", 65000) if not self.text else 65000

    def send(self, flags, options=b"", payload=b""):
        head = struct.pack("!HHIIBBHHH", port, self.peer_port, self.sent, self.next, (20 + len(options)) // 4 << 4, flags, self.window(), 0, 0)
        segment = head + options + payload
        pseudo = address + self.peer + struct.pack("!BBH", 0, 6, len(segment))
        send_ip(self.peer, 6, segment[:16] + struct.pack("!H", total(pseudo + segment)) + segment[18:])
        self.sent += len(payload)

    def acknowledge(self):
        blocks = b""
        if self.parts and how.get("sack") != "0":
            for at in sorted(self.parts)[:3]:
                blocks += struct.pack("!II", (self.begin + at) & 0xFFFFFFFF, (self.begin + at + len(self.parts[at])) & 0xFFFFFFFF)
            blocks = b"\1\1" + bytes([5, 2 + len(blocks)]) + blocks
        self.send(0x10, blocks)

    def take(self, at, payload):
        """Bytes that arrived: what has no hole before it is the text, the rest waits."""
        self.parts[at] = max(payload, self.parts.get(at, b""), key=len)
        for start in sorted(self.parts):
            if start > len(self.text):
                break
            self.text += self.parts.pop(start)[len(self.text) - start:]
        self.next = (self.begin + len(self.text)) & 0xFFFFFFFF

    def wanted(self):
        if self.text[:1] == b"\x16" and len(self.text) > 5:
            first = 5 + int.from_bytes(self.text[3:5], "big")
        else:
            first = self.text.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in self.text else 1 << 30
        if how.get("again") and not self.answered and len(self.text) >= first:
            self.answered = True
            self.send(0x18, b"", b"\x16\x03\x03\x00\x04\x02\x00\x00\x00")
        return first + number("extra", 0)

    def too_long(self, packet):
        limit = number("ptb", 65535)
        if self.told or len(packet) <= limit:
            return False
        self.told = True
        body = struct.pack("!BBHHH", 3, 4, 0, 0, limit) + packet[:28]
        send_ip(self.peer, 1, body[:2] + struct.pack("!H", total(body)) + body[4:])
        return True

    def segment(self, packet, seq, payload):
        if not payload:
            if how.get("window") == "0" and not self.text and (seq + 1) & 0xFFFFFFFF == self.next:
                how["window"] = "65000"  # probed
                self.acknowledge()
            return
        at = (seq - self.begin) & 0xFFFFFFFF
        if at > 1 << 31:
            self.acknowledge()
            return
        self.count += 1
        gone = self.count in lost or self.too_long(packet)
        say(event="part", at=at, size=len(payload), lost=gone)
        if gone:
            return
        if self.count == 1 and "cut" in how:
            payload = payload[:number("cut", 0)]
        self.take(at, payload)
        self.acknowledge()
        if not self.done and len(self.text) >= self.wanted():
            self.done = True
            say(event="whole", size=len(self.text))
            self.send(0x19, b"", b"ok\n")


connections = {}
say(event="ready")
while True:
    packet = wire.recv(65536)
    size = (packet[0] & 15) * 4
    if packet[9] != 6 or packet[16:20] != address or int.from_bytes(packet[size + 2:size + 4], "big") != port:
        continue
    packet = packet[:int.from_bytes(packet[2:4], "big")]
    from_port, _, seq, _, offset, flags = struct.unpack("!HHIIBB", packet[size:size + 14])
    key = (packet[12:16], from_port)
    if flags & 0x02:
        connections[key] = Connection(packet[12:16], from_port, seq)
    elif key in connections and not flags & 0x04:
        connections[key].segment(packet, seq, packet[size + (offset >> 4) * 4:])
