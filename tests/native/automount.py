# SPDX-License-Identifier: GPL-2.0-only
"""automount.py POINT COMMAND...: is a host's automounter asked for the name of a host?

Mounts autofs at POINT as the map -hosts is mounted, runs COMMAND, and says "asked NAME" for the first name that the kernel asks the automounter for, or "asked
nothing" when the command ended without. To be run in a mount namespace of its own.
"""
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

NAME_AT = 44  # struct autofs_v5_packet of linux/auto_fs.h
point, command = sys.argv[1], sys.argv[2:]
reader, writer = os.pipe()
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={writer},pgrp={os.getpgrp()},minproto=5,maxproto=5,indirect".encode()
if libc.mount(b"-hosts", point.encode(), b"autofs", 0, options) != 0:
    raise OSError(ctypes.get_errno(), "mount autofs")
os.close(writer)
child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True)
asked = None
deadline = time.monotonic() + 40
while asked is None and child.poll() is None and time.monotonic() < deadline:
    if select.select([reader], [], [], 0.05)[0]:
        asked = os.read(reader, 4096)[NAME_AT:].split(b"\0")[0].decode()
os.close(reader)  # whoever waits for an answer is told that there is none
if child.poll() is None:
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
print("asked", asked or "nothing")
