# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# shellcheck shell=bash disable=SC2034 # these are for the scripts that source this
#
# settings.bash - where things are and what they default to, for the scripts of this folder. Every one may be set from outside.

VM_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
VM_TREE=$(cd "$VM_HERE/../.." && pwd -P)
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/netcordon-vm}
VM_ARCH=$(dpkg --print-architecture)
VM_OF=${VM_OF:-}             # not empty: packages of this architecture
VM_REFRESH=${VM_REFRESH:-}   # not empty: ask the mirror for newer packages even when it was asked within a day
VM_TIMEOUT=${VM_TIMEOUT:-600} # seconds a guest may live
VM_MEMORY=${VM_MEMORY:-2048}  # MiB
VM_APPEND=${VM_APPEND:-}      # more words for the kernel's command line
VM_CPU=${VM_CPU:-max,-erms,-fsrm,-smap,-smep,-la57} # of an emulated guest: what the emulator does byte by byte or with a second table of pages is left out
VM_PLACES=${VM_PLACES:-2}      # guests at a time, whoever starts them
VM_NICE=${VM_NICE:-10}         # of the emulator
mkdir -p "$VM_CACHE" || exit 3

# The rows of kernels.list without comments: name suites pattern lacks.
kernel_rows() {
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e "s/ARCH/$VM_ARCH/" "$VM_HERE/kernels.list"
}

# The architecture of a kernel that is not of the machine's: its name ends in it. Empty for all others.
foreign_of() {
	[[ $1 != *-arm64 ]] || echo arm64
}

kernel_names() {
	kernel_rows | awk '{ print $1 }'
}
