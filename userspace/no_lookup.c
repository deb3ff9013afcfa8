/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * no_lookup.c - the name service of the C library, absent from netcordon on purpose
 *
 * libnl can turn host and protocol names into numbers, which nothing here asks it to. In a static program the C library's own functions for it would load
 * shared objects while it runs; these take their place and know nothing. So no host name is ever looked up by the supervisor: names are the edge's.
 */
#include <netdb.h>
#include <stddef.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret_list)
{
	(void)node;
	(void)service;
	(void)hints;
	(void)ret_list;
	return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

const char *gai_strerror(int status)
{
	(void)status;
	return "names are not looked up";
}

struct protoent *getprotobyname(const char *name)
{
	(void)name;
	return NULL;
}

struct protoent *getprotobynumber(int number)
{
	(void)number;
	return NULL;
}
