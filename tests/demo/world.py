#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""world.py - everything that the demo's workload could reach: live listeners, each of which writes down who came

Started inside the outer network namespace. Arguments: the journal, the plane's token, then NAME=ADDRESS:PORT/PROTOCOL for each listener. Prints
`ready` when all of them listen. One line of the journal is NAME, and one is written for each connection or datagram, before it is answered.
"""
import http.server
import os
import socket
import sys
import threading

journal_lock = threading.Lock()


def write_down(journal, name):
    with journal_lock, open(journal, "a", encoding="ascii") as file:
        file.write(name + "\n")


def handler(name, token):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if name == "plane" and self.headers.get("authorization") != "Bearer " + token:
                return self.answer(401, "no credential\n")
            if self.path.startswith("/to/"):
                return self.answer(302, "", "http://" + self.path[len("/to/"):])
            return self.answer(200, "this is " + name + "\n")

        def answer(self, status, body, location=None):
            self.send_response(status)
            if location:
                self.send_header("location", location)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, journal, name, token, address):
        self.journal, self.name = journal, name
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler(name, token))

    def server_bind(self):  # without the look-up of the host's name, for which there is no server here
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def handle_error(self, *_):  # a client that goes away before its answer has arrived is none
        pass

    def get_request(self):
        connection = super().get_request()
        write_down(self.journal, self.name)
        return connection


def serve_datagrams(journal, name, listener):
    while True:
        data, peer = listener.recvfrom(2048)
        write_down(journal, name)
        listener.sendto(data, peer)


def main():
    journal, token = sys.argv[1:3]
    for argument in sys.argv[3:]:
        name, place = argument.split("=")
        address, protocol = place.rsplit("/", 1)
        host, port = address.rsplit(":", 1)
        if protocol == "udp":
            listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            listener.bind((host, int(port)))
            work = threading.Thread(target=serve_datagrams, args=(journal, name, listener), daemon=True)
        else:
            work = threading.Thread(target=Server(journal, name, token, (host.strip("[]"), int(port))).serve_forever, daemon=True)
        work.start()
    print("ready", flush=True)
    sys.stdout.close()
    os.read(0, 1)  # until whoever started this is gone


main()
