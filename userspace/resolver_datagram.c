/* SPDX-License-Identifier: GPL-2.0-only */
/* resolver_datagram.c - questions and answers by UDP, many in one call: what costs here is the call, not the question */
#include "resolver_parts.h"

#include <string.h>

#define ROUNDS 4 /* of NC_BATCH datagrams of one socket in one step, so that no socket starves another */

/* What the kernel does not take at once is lost, as datagrams are: the client asks again. */
void nc_resolver_send_outbox(struct nc_resolver *resolver)
{
	struct nc_resolver_outbox *outbox = &resolver->outbox;
	unsigned int sent = 0;

	while (sent < outbox->count) {
		int r = sendmmsg(outbox->fd, outbox->heads + sent, outbox->count - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += r > 0 ? (unsigned int)r : 1; /* the first one failed: it alone */
	}
	outbox->count = 0;
}

void nc_resolver_post(struct nc_resolver *resolver, const struct nc_resolver_client *client, const uint8_t *bytes, size_t size)
{
	struct nc_resolver_outbox *outbox = &resolver->outbox;
	unsigned int i;

	if (outbox->count == NC_BATCH || (outbox->count && outbox->fd != client->fd))
		nc_resolver_send_outbox(resolver);
	i = outbox->count++;
	outbox->fd = client->fd;
	outbox->addresses[i] = client->address;
	memcpy(outbox->bytes[i], bytes, size);
	outbox->parts[i] = (struct iovec){.iov_base = outbox->bytes[i], .iov_len = size};
	outbox->heads[i].msg_hdr =
		(struct msghdr){.msg_name = &outbox->addresses[i], .msg_namelen = client->length, .msg_iov = &outbox->parts[i], .msg_iovlen = 1};
}

/* One call for many questions, and one for their answers. Returns how many came. */
static int read_batch(struct nc_resolver *resolver, int fd)
{
	struct mmsghdr heads[NC_BATCH];
	struct iovec parts[NC_BATCH];
	struct sockaddr_storage from[NC_BATCH];
	int count;

	for (int i = 0; i < NC_BATCH; i++) {
		parts[i] = (struct iovec){.iov_base = resolver->input[i], .iov_len = NC_DATAGRAM_MAX};
		heads[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof(from[i]), .msg_iov = &parts[i], .msg_iovlen = 1};
	}
	count = recvmmsg(fd, heads, NC_BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < count; i++) {
		struct nc_resolver_client client = {.fd = fd, .stream = -1, .length = heads[i].msg_hdr.msg_namelen};

		if (heads[i].msg_hdr.msg_flags & MSG_TRUNC)
			continue;
		memcpy(&client.address, &from[i], client.length);
		nc_resolver_ask(resolver, &client, resolver->input[i], heads[i].msg_len);
	}
	nc_resolver_send_outbox(resolver);
	return count;
}

void nc_resolver_read_datagrams(struct nc_resolver *resolver, int fd)
{
	for (int i = 0; i < ROUNDS; i++)
		if (read_batch(resolver, fd) < NC_BATCH)
			return;
}
