# SPDX-License-Identifier: GPL-2.0-only
"""dead_files.py POINT FOLDER COMMAND...: a file system whose server takes every question and answers none

Mounts it (FUSE) at POINT, runs COMMAND, makes FOLDER/asked at the first question and ends when FOLDER/release is there: then everybody who waits is told that
there is no answer. Exits with COMMAND's status. To be run in a mount namespace of its own.
"""
import ctypes
import os
import select
import struct
import subprocess
import sys
import time

INIT = 26
point, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={server},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"dead", point.encode(), b"fuse", 0, options) != 0:
    raise OSError(ctypes.get_errno(), "mount fuse")
child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
deadline = time.monotonic() + 120
while not os.path.exists(folder + "/release") and time.monotonic() < deadline:
    if not select.select([server], [], [], 0.05)[0]:
        continue
    question = os.read(server, 1 << 17)
    code, unique = struct.unpack_from("=IQ", question, 4)
    if code == INIT:
        body = struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 12, 9, 4096, 1, 1, 0, 0, *[0] * 7)
        os.write(server, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
    else:
        open(folder + "/asked", "w").close()
os.close(server)
sys.exit(child.wait(60))
