#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""names_load.py - both ends of policies that are exchanged under load

names_load.py swap SOCKET COUNT PROFILE...    exchanges the profiles in turn, COUNT times, as `netcordon update` does (userspace/launch_update.h)
names_load.py work UNTIL NAME GOOD PORT BAD   until the file UNTIL exists: connects and sends to GOOD, which must always get through, resolves NAME, and tries
                                              BAD, which never may. Holds one connection to GOOD all the while. Prints what came of it, as JSON
"""
import json
import os
import socket
import struct
import sys
import threading
import time


def swap(path, count, profiles):
    texts = [open(profile, "rb").read() for profile in profiles]
    for i in range(count):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(30)
            s.connect(path)
            s.sendall(texts[i % len(texts)])
            s.shutdown(socket.SHUT_WR)
            answer = s.recv(1 << 16)
        magic, status = struct.unpack_from("=Ii", answer)
        if magic != 0x6E637531 or status:
            sys.exit(f"exchange {i}: status {status}: {answer[8:].replace(bytes(1), b' ').decode(errors='replace')}")
    print(count)


class Work:
    def __init__(self, until, name, good, port, bad):
        self.until, self.name, self.good, self.port, self.bad = until, name, good, int(port), bad
        self.tally = {"connected": 0, "sent": 0, "resolved": 0, "held": 0, "lost": [], "leaked": 0, "refused": 0}

    def over(self):
        return os.path.exists(self.until)

    def lose(self, what, error):
        if len(self.tally["lost"]) < 20:
            self.tally["lost"].append(f"{what}: {error}")

    def connects(self):
        while not self.over():
            try:
                with socket.create_connection((self.good, self.port), 10) as s:
                    s.sendall(b"x\n")
                    s.recv(100)
                self.tally["connected"] += 1
            except OSError as e:
                self.lose("connect", e)
            try:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                    s.sendto(b"x", (self.good, self.port))
                self.tally["sent"] += 1
            except OSError as e:
                self.lose("send", e)
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as s:
                    s.settimeout(2)
                    try:
                        s.connect((self.bad, self.port))
                        s.send(b"x")
                        self.tally["leaked"] += 1
                    except OSError:
                        self.tally["refused"] += 1

    def resolves(self):
        while not self.over():
            try:
                socket.getaddrinfo(self.name, 443, socket.AF_INET)
                self.tally["resolved"] += 1
            except OSError as e:
                self.lose("resolve", e)
            time.sleep(0.01)

    def holds(self):
        with socket.create_connection((self.good, self.port), 10) as s:
            while not self.over():
                try:
                    s.sendall(b"held\n")
                    self.tally["held"] += 1
                except OSError as e:
                    self.lose("hold", e)
                    return
                time.sleep(0.01)

    def run(self):
        socket.getaddrinfo(self.name, 443, socket.AF_INET)
        threads = [threading.Thread(target=task) for task in (self.connects, self.resolves, self.holds)]
        for thread in threads:
            thread.start()
        print("started", flush=True)
        for thread in threads:
            thread.join()
        print(json.dumps(self.tally), flush=True)


if sys.argv[1] == "swap":
    swap(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
else:
    Work(*sys.argv[2:7]).run()
