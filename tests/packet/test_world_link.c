// SPDX-License-Identifier: GPL-2.0-only
/* test_world_link.c - an address is in use when the world builder says so, in a network namespace without a name and without a link */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "world_link.h"

#define ADDRESSES 200 /* about one in three was not in use yet, on a busy machine */

/* Does a datagram to the address arrive at the listener, whose port is that of `to`? */
static bool arrives(int listener, struct sockaddr_in6 *to, const union nc_address *address)
{
	struct pollfd waiting = {.fd = listener, .events = POLLIN};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char byte = 0;

	assert_true(fd >= 0);
	memcpy(&to->sin6_addr, address->bytes, sizeof(to->sin6_addr));
	sendto(fd, "!", 1, 0, (void *)to, sizeof(*to));
	close(fd);
	return poll(&waiting, 1, 1000) == 1 && recv(listener, &byte, 1, 0) == 1 && byte == '!';
}

static void test_address_is_in_use(void **state)
{
	union nc_address address = {.bytes = {0xfd}};
	struct nl_sock *requests = NULL;
	struct sockaddr_in6 at = {.sin6_family = AF_INET6};
	socklen_t length = sizeof(at);
	struct nc_error error = {0};
	int index = 0, listener;

	(void)state;
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(nc_link_socket(&requests, &error), 0);
	assert_int_equal(nc_link_up(requests, "lo", &index, &error), 0);
	listener = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (void *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(listener, (void *)&at, &length), 0);
	for (int i = 1; i <= ADDRESSES; i++) {
		address.bytes[15] = (uint8_t)i;
		assert_int_equal(nc_link_address(requests, index, &address, 128, &error), 0);
		assert_true(arrives(listener, &at, &address));
	}
	close(listener);
	nl_socket_free(requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_address_is_in_use)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
