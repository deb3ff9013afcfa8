#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""named_writers.py HOW ADDRESS PORT NAME [OTHER COUNT] - a first payload that is not written by one process in one call

HOW     two (a second process, which was handed the socket, writes a hello of OTHER at the moment when this one writes one of NAME), halves (this one writes the
        first half, the other the second, at once), turns (the same in turn, as one packet: the first half is only promised more), urgent (a byte in the middle
        of the name is out of band, all in one packet), copied (by write), zerocopy (SO_ZEROCOPY and MSG_ZEROCOPY), unset (MSG_ZEROCOPY without that option,
        which copies), vmsplice and gift (pages of this process, through a pipe), piped (a pipe's own pages), tee (the same, of which a second pipe keeps some)
COUNT   connections, one after the other

Prints for each `answer N`, `ended ERRNO`, `refused CALL ERRNO` (nothing was written) or `silence`; the exit status is 0 when all were answered.
"""
import array
import ctypes
import errno
import mmap
import os
import random
import socket
import ssl
import sys
import time

SOL_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
SPLICE_F_GIFT = 8
libc = ctypes.CDLL(None, use_errno=True)
how, address, port, name = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
other, count = (sys.argv[5:] + [""])[0], int((sys.argv[6:] + ["1"])[0])
flags = mmap.mmap(-1, 4096)  # shared: [0] the other process is ready, [1] go


class Refused(Exception):
    pass


def hello(name):
    out = ssl.MemoryBIO()
    try:
        ssl._create_unverified_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def connect():
    stream = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    stream.settimeout(10)
    stream.connect((address, port))
    return stream


def spin(seconds):
    """Waits without sleeping: how long a sleep takes on a busy machine would decide who is first."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def second_writer(payload, wait=True, late=0):
    """A process that is handed a socket and writes when it is told, or that much later; returns the end by which it is handed over, and its pid."""
    flags[0:2] = b"\0\0"
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    pid = os.fork()
    if pid == 0:
        try:
            message = theirs.recvmsg(1, socket.CMSG_SPACE(4))
            stream = socket.socket(fileno=array.array("i", message[1][0][2])[0])
            flags[0] = 1
            while wait and not flags[1]:
                pass
            spin(late)
            stream.send(payload)
        except OSError:
            pass
        os._exit(0)
    theirs.close()
    return ours, pid


def hand(ours, stream):
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [stream.fileno()]))])


def together(stream, mine, its):
    late = random.choice((1, -1)) * random.random() ** 2 * 0.002  # so that each is the first as often as the other, and often both at once
    ours, pid = second_writer(its, late=max(late, 0))
    hand(ours, stream)
    while not flags[0]:
        pass
    flags[1] = 1
    spin(max(-late, 0))
    try:
        stream.send(mine)
    finally:
        os.waitpid(pid, 0)


def in_turn(stream, mine, its):
    stream.send(mine, socket.MSG_MORE)
    ours, pid = second_writer(its, wait=False)
    hand(ours, stream)
    os.waitpid(pid, 0)


def urgent(stream, payload):
    middle = payload.find(name.encode()) + 3
    stream.send(payload[:middle], socket.MSG_MORE)
    stream.send(payload[middle:middle + 1], socket.MSG_OOB | socket.MSG_MORE)
    stream.send(payload[middle + 1:])


def option(stream, number):
    try:
        stream.setsockopt(socket.SOL_SOCKET, number, 1)
    except OSError as error:
        raise Refused(f"setsockopt {errno.errorcode[error.errno]}") from None


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def through_pipe(stream, payload):
    reads, writes = os.pipe()
    if how in ("vmsplice", "gift"):
        own = mmap.mmap(-1, 65536)
        own[:len(payload)] = payload
        part = Part(ctypes.addressof(ctypes.c_char.from_buffer(own)), len(payload))
        if libc.vmsplice(writes, ctypes.byref(part), 1, SPLICE_F_GIFT if how == "gift" else 0) != len(payload):
            raise Refused("vmsplice")
    else:
        os.write(writes, payload)
    if how == "tee":
        kept = os.pipe()
        libc.tee(reads, kept[1], len(payload), 0)
    if os.splice(reads, stream.fileno(), len(payload)) != len(payload):
        raise Refused("splice")


def send(stream):
    payload = hello(name)
    half = payload.find(name.encode()) + 3
    if how == "two":
        together(stream, payload, hello(other))
    elif how == "halves":
        together(stream, payload[:half], payload[half:])
    elif how == "turns":
        in_turn(stream, payload[:half], payload[half:])
    elif how == "urgent":
        urgent(stream, payload)
    elif how in ("vmsplice", "gift", "piped", "tee"):
        through_pipe(stream, payload)
    else:
        if how == "zerocopy":
            option(stream, SOL_ZEROCOPY)
        stream.send(payload, MSG_ZEROCOPY if how in ("zerocopy", "unset") else 0)


def once():
    stream = connect()
    try:
        send(stream)
        answer = stream.recv(65536)
        print(f"answer {len(answer)}" if answer else "ended EOF")  # the other process may have been told why
        return bool(answer)
    except Refused as error:
        print("refused", error)
    except socket.timeout:
        print("silence")
    except OSError as error:
        print("ended", errno.errorcode.get(error.errno, error.errno))
    finally:
        stream.close()
    return False


if __name__ == "__main__":
    sys.exit(0 if all([once() for _ in range(count)]) else 1)
