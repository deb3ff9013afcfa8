// SPDX-License-Identifier: GPL-2.0-only
/* attempt_xdp.c - AF_XDP in copy mode: frames straight to the device, past every hook of the IP layers and past tc */
#include "attempt.h"

#include <linux/if_ether.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif
#define FRAME 2048
#define FRAMES 16
#define DESCRIPTORS 16

static int set(struct attempt *a, int fd, int name, const void *value, size_t size)
{
	return step(a, "setsockopt", setsockopt(fd, SOL_XDP, name, value, (socklen_t)size));
}

/*
 * Registers memory and the rings that the kernel insists on, maps the one for sending, binds to queue 0. In this order: kernels of before 2024 map no ring of
 * a socket that is bound. Returns the memory, or NULL with the step recorded.
 */
static unsigned char *prepare(struct attempt *a, int fd, const char *device, struct xdp_mmap_offsets *offsets, unsigned char **ret_ring)
{
	struct xdp_umem_reg region = {.len = FRAME * FRAMES, .chunk_size = FRAME};
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_ifindex = if_nametoindex(device)};
	socklen_t size = sizeof(*offsets);
	int entries = DESCRIPTORS;
	unsigned char *memory = mmap(NULL, FRAME * FRAMES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		step(a, "mmap", -1);
		return NULL;
	}
	region.addr = (uint64_t)(uintptr_t)memory;
	if (set(a, fd, XDP_UMEM_REG, &region, sizeof(region)) || set(a, fd, XDP_UMEM_FILL_RING, &entries, sizeof(entries)) ||
	    set(a, fd, XDP_UMEM_COMPLETION_RING, &entries, sizeof(entries)) || set(a, fd, XDP_TX_RING, &entries, sizeof(entries)) ||
	    step(a, "getsockopt", getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, offsets, &size)))
		return NULL;
	*ret_ring = mmap(NULL, offsets->tx.desc + DESCRIPTORS * sizeof(struct xdp_desc), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			 XDP_PGOFF_TX_RING);
	if (*ret_ring == MAP_FAILED) {
		step(a, "mmap", -1);
		return NULL;
	}
	return step(a, "bind", bind(fd, (void *)&address, sizeof(address))) ? NULL : memory;
}

/* The frame goes to the broadcast link address: whoever is at the other end of the veth takes it. */
static size_t fill_frame(unsigned char *frame, struct peer *peer, const char *payload)
{
	struct ethhdr link = {.h_dest = {255, 255, 255, 255, 255, 255}, .h_source = {2, 0, 0, 0, 0, 9}, .h_proto = htons(ETH_P_IP)};

	memcpy(frame, &link, sizeof(link));
	return sizeof(link) + make_datagram(frame + sizeof(link), FRAME - sizeof(link), 0, peer, payload);
}

enum outcome verb_xdp(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	struct xdp_mmap_offsets offsets;
	struct xdp_desc *descriptors;
	unsigned char *memory, *ring;
	int fd = open_socket(a, AF_XDP, SOCK_RAW, 0);
	size_t length;
	ssize_t sent;

	if (fd < 0)
		return fail(a);
	memory = prepare(a, fd, args[0], &offsets, &ring);
	if (!memory)
		return fail(a);
	length = fill_frame(memory, &peer, a->payload);
	descriptors = (void *)(ring + offsets.tx.desc);
	descriptors[0] = (struct xdp_desc){.addr = 0, .len = (uint32_t)length};
	__atomic_store_n((uint32_t *)(ring + offsets.tx.producer), 1, __ATOMIC_RELEASE);
	sent = sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
	if (step(a, "sendto", sent))
		return fail(a);
	a->sent = (long)length;
	return THROUGH;
}
