/* SPDX-License-Identifier: GPL-2.0-only */
/* dns_servers.c - where the servers come from: the configuration's addresses, text, or a resolv.conf(5) */
#include "dns_upstream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "address.h"
#include "cleanup.h"

void nc_upstream_from_address(const union nc_address *address, struct nc_upstream *ret_upstream)
{
	struct nc_upstream made = {0};
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&made.address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&made.address;

	if (nc_address_is_ipv4(address)) {
		*ipv4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = address->words_be[3]};
		made.length = sizeof(*ipv4);
	} else {
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons(53);
		memcpy(&ipv6->sin6_addr, address, sizeof(ipv6->sin6_addr));
		made.length = sizeof(*ipv6);
	}
	*ret_upstream = made;
}

int nc_upstream_from_text(const char *text, struct nc_upstream *ret_upstream)
{
	char copy[INET6_ADDRSTRLEN + 16], *host = copy, *port = NULL, *end;
	struct nc_upstream made = {0};
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&made.address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&made.address;
	unsigned long number = 53;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	if (*copy == '[') {
		host = copy + 1;
		end = strchr(host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		port = end[1] ? end + 2 : NULL;
		*end = '\0';
	} else if ((end = strchr(copy, ':')) && !strchr(end + 1, ':')) {
		*end = '\0';
		port = end + 1;
	}
	if (port) {
		number = strtoul(port, &end, 10);
		if (!*port || *end || number < 1 || number > 65535)
			return -EINVAL;
	}
	if (inet_pton(AF_INET, host, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
		ipv4->sin_port = htons((uint16_t)number);
		made.length = sizeof(*ipv4);
	} else if (inet_pton(AF_INET6, host, &ipv6->sin6_addr) == 1) {
		ipv6->sin6_family = AF_INET6;
		ipv6->sin6_port = htons((uint16_t)number);
		made.length = sizeof(*ipv6);
	} else {
		return -EINVAL;
	}
	*ret_upstream = made;
	return 0;
}

int nc_upstreams_from_resolv_conf(const char *path, struct nc_upstreams *ret_upstreams)
{
	NC_FCLOSE FILE *file = fopen(path, "re");
	struct nc_upstreams found = {0};
	char line[512], server[128];

	if (!file)
		return -errno;
	while (found.count < NC_UPSTREAMS_MAX && fgets(line, sizeof(line), file))
		if (sscanf(line, "nameserver %127s", server) == 1 && nc_upstream_from_text(server, &found.servers[found.count]) == 0)
			found.count++;
	if (!found.count)
		return -ENOENT;
	*ret_upstreams = found;
	return 0;
}
