// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_packet.c - any bytes as a packet: the reader must stay inside them, and what it accepts must be plain */
#include <stdlib.h>
#include "../unit/packet_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct __sk_buff skb = {};
	struct nc_packet packet = {}, copied = {};
	uint8_t *lies;
	int plain;

	if (!size)
		return 0;
	/* In memory of its own and of just this size, aligned as the kernel aligns a network header; the fuzzer's bytes begin anywhere. */
	lies = malloc(size - 1 ?: 1);
	if (!lies)
		abort();
	memcpy(lies, bytes + 1, size - 1);
	skb.protocol = bytes[0] & 1 ? NC_BE16(NC_ETH_P_IP) : NC_BE16(NC_ETH_P_IPV6);
	host_packet = lies;
	host_packet_size = size - 1;
	host_packet_scattered = 1;
	plain = nc_packet_read(&skb, &copied);
	host_packet_scattered = 0;
	if (nc_packet_read(&skb, &packet) != plain || memcmp(&packet, &copied, sizeof(packet)))
		abort();
	if (plain) {
		if (packet.protocol != NC_PROTO_TCP && packet.protocol != NC_PROTO_UDP)
			abort();
		if (packet.transport != (packet.family == 4 ? 20 : 40) || host_packet_size < packet.transport + 4)
			abort();
		if (packet.family == 4 && !nc_address_is_ipv4(&packet.destination))
			abort();
	} else if (nc_packet_is_housekeeping(&skb, &packet) && packet.family != 6) {
		abort();
	}
	free(lies);
	return 0;
}
