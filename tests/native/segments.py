#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""segments.py DEVICE - from now on this device is given one segment at a time: segmentation offloads off (SIOCETHTOOL)"""
import array
import fcntl
import socket
import struct
import sys

for command in (0x1F, 0x24):  # ETHTOOL_STSO, ETHTOOL_SGSO
    value = array.array("B", struct.pack("II", command, 0))
    fcntl.ioctl(socket.socket(), 0x8946, struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0]))
