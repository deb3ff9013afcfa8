/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device.h - the device nodes that lead out of a cordon, and whether a pair of numbers is one of them
 *
 * A node is its numbers, not its path: root can make one anywhere, and a mount can show one anywhere. What a process does through one of these is no socket
 * of its, so no other program of ours is asked. Refused for every instance, whoever it runs as.
 *
 * Two tables, the same for the kernel, the closure table, what `attach` looks at and the tests. In the first are numbers that are the kernel's for good
 * (admin-guide/devices.txt, linux/miscdevice.h). In the second are names: the kernel picks the numbers when the module is loaded, /proc/misc and
 * /proc/devices say which they are, and the loader keeps the map `devices` as they say (loader/devices.c).
 *
 * Left out, because they are no way out of what a cordon confines: /dev/kvm (a machine's own network is its process's sockets, or vhost), /dev/vsock (it only
 * tells a number), input and sound. Block devices: whoever may open the host's disks owns the host; that is the runtime's to refuse, as it is by default.
 */
#ifndef NC_DEVICE_H
#define NC_DEVICE_H

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* symbol, path of the closure table, usual node below /dev, major, first and last minor, what it leads to. All are character devices. */
#define NC_DEVICES(X)                                                                                                                                \
	X(MEM, "memory_device", "mem", 1, 1, 2, "the machine's memory, the kernel's included")                                                       \
	X(PORT, "memory_device", "port", 1, 4, 4, "the machine's ports")                                                                             \
	X(VFIO, "passthrough_device", "vfio/vfio", 10, 196, 196, "an adapter that is driven from user space")                                        \
	X(TUN, "tun_device", "net/tun", 10, 200, 200, "packets that the host takes for a neighbour's")                                               \
	X(CUSE, "fuse_device", "cuse", 10, 203, 203, "a device that the workload answers for, or not")                                               \
	X(FUSE, "fuse_device", "fuse", 10, 229, 229, "a file system that the workload answers for, or not")                                          \
	X(AUTOFS, "autofs_device", "autofs", 10, 235, 235, "the host's automounter, which dials")                                                    \
	X(VHOST_NET, "vhost_device", "vhost-net", 10, 238, 238, "frames that the kernel sends for a virtual machine")                                \
	X(VHOST_VSOCK, "vhost_device", "vhost-vsock", 10, 241, 241, "AF_VSOCK to the host, from a virtual machine")                                  \
	X(PPP, "tun_device", "ppp", 108, 0, 0, "packets that the host takes for a neighbour's")                                                      \
	X(RDMA, "rdma_device", "infiniband", 231, 0, 255, "an adapter that sends what no socket sees")

/* symbol, path, node, where the number stands, name there, what it leads to */
#define NC_DEVICE_NAMES(X)                                                                                                                           \
	X(IOMMU, "passthrough_device", "iommu", MISC, "iommu", "an adapter that is driven from user space")                                          \
	X(RDMA_CM, "rdma_device", "infiniband/rdma_cm", MISC, "rdma_cm", "connections of an adapter that no socket sees")                            \
	X(VFIO_GROUP, "passthrough_device", "vfio/N", MAJOR, "vfio", "an adapter that is driven from user space")                                    \
	X(VFIO_DEVICE, "passthrough_device", "vfio/devices/N", MAJOR, "vfio-dev", "an adapter that is driven from user space")                       \
	X(UIO, "passthrough_device", "uioN", MAJOR, "uio", "an adapter that is driven from user space")                                              \
	X(MACVTAP, "tun_device", "tapN", MAJOR, "macvtap", "frames, straight to the device below")                                                   \
	X(IPVTAP, "tun_device", "tapN", MAJOR, "ipvtap", "packets, straight to the device below")                                                    \
	X(VDPA, "vhost_device", "vhost-vdpa-N", MAJOR, "vhost-vdpa", "an adapter's queues, past the kernel")                                         \
	X(VDUSE, "vhost_device", "vduse/control", MAJOR, "vduse", "an adapter that the workload plays to the host")                                  \
	X(UBLK, "fuse_device", "ublk-control", MISC, "ublk-control", "a disk that the workload answers for, or not")                                 \
	X(UBLK_DISK, "fuse_device", "ublkcN", MAJOR, "ublk-char", "a disk that the workload answers for, or not")                                    \
	X(RDMA_VERBS, "rdma_device", "infiniband/uverbsN", MAJOR, "infiniband_verbs", "an adapter that sends what no socket sees")                   \
	X(RDMA_MAD, "rdma_device", "infiniband/umadN", MAJOR, "infiniband_mad", "an adapter that sends what no socket sees")

/* Majors that the kernel picks lie above this (CHRDEV_MAJOR_DYN_END of linux/fs.h); minors that it picks are those of the major for all that is small. */
#define NC_DEVICE_MAJOR_MISC 10
#define NC_DEVICE_MAJOR_PICKED 234

/* One comparison for the range: what is smaller than `first` is very large then. */
#define NC_DEVICE_IS(symbol, path, node, major_, first, last, ...) || (major == (major_) && minor - (first) <= (last) - (first))

/* Is the character device one of the first table? */
static __always_inline int nc_device_known(unsigned int major, unsigned int minor)
{
	return 0 NC_DEVICES(NC_DEVICE_IS);
}

/* May the second table hold it, under a number that was picked? Everything that is opened often is none of these. */
static __always_inline int nc_device_picked(unsigned int major)
{
	return major == NC_DEVICE_MAJOR_MISC || major >= NC_DEVICE_MAJOR_PICKED;
}

#endif
