#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Reads lines "ADDRESS 0|1" (1: netcordon calls it public) and compares each with Python's ipaddress module.

Where Python's own table differs from the registries, in some or all of its versions, the right answer stands in DIFFERS, with why; the most specific
network counts. Ends with the number compared with Python; exit 1 with the first disagreements.
"""
import ipaddress
import sys

DIFFERS = {
    # IPv4
    "224.0.0.0/4": (False, "multicast is no unicast destination; Python calls it global"),
    "192.0.0.0/24": (False, "Python up to 3.12 lists only parts of the block"),
    "192.0.0.9/32": (True, "a registry row of its own, which Python up to 3.12 takes either way"),
    "192.0.0.10/32": (True, "a registry row of its own, which Python up to 3.12 takes either way"),
    "192.88.99.0/24": (False, "neither true nor false in the registry, so not proven; Python calls it global"),
    # IPv6: Python's table names what is not global; here what is not in 2000::/3 is not
    "::/3": (False, "outside 2000::/3"),
    "4000::/2": (False, "outside 2000::/3"),
    "8000::/1": (False, "outside 2000::/3"),
    "2001::/23": (False, "Python before 3.13 has none of the exceptions, and later versions not all"),
    "2001:1::1/128": (True, "registry row"),
    "2001:1::2/128": (True, "registry row"),
    "2001:1::3/128": (True, "registry row of 2025"),
    "2001:3::/32": (True, "registry row"),
    "2001:4:112::/48": (True, "registry row"),
    "2001:20::/28": (True, "registry row"),
    "2001:30::/28": (True, "registry row"),
    "2002::/16": (False, "6to4 is neither true nor false in the registry; Python before 3.13 calls it global"),
    "3fff::/20": (False, "registry row of 2024"),
}


def expected(address):
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped:
        return expected(mapped)
    if address.version == 6 and address in ipaddress.ip_network("64:ff9b::/96"):
        return expected(ipaddress.ip_address(int(address) & 0xFFFFFFFF))
    best = None
    for network, answer in NETWORKS:
        if address.version == network.version and address in network and (best is None or network.prefixlen > best[0].prefixlen):
            best = (network, answer)
    if best:
        return best[1], False
    return address.is_global, True


NETWORKS = [(ipaddress.ip_network(text), answer) for text, (answer, _) in DIFFERS.items()]


def main():
    by_python = wrong = 0
    for line in sys.stdin:
        text, said = line.split()
        right, python = expected(ipaddress.ip_address(text))
        by_python += python
        if right != (said == "1"):
            wrong += 1
            if wrong <= 10:
                print(f"{text}: netcordon says {said}, expected {int(right)} by {'Python' if python else 'the list'}", file=sys.stderr)
    if by_python < 1000:
        print(f"only {by_python} addresses were compared with Python", file=sys.stderr)
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
