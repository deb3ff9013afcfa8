/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * edge_ask.c - one name asked for as the resolver would ask: netcordon-edge ask NAME [SERVER...], for `netcordon explain`
 *
 * The servers' replies are parsed here and not in netcordon, by a process that has given up being root. It prints a line `ADDRESS TTL` for each address of
 * either family and exits 0; with no line when the servers say that there is none of either. 1 when that is unknown, since no server answered.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "clock.h"
#include "dns_upstream.h"
#include "edge.h"
#include "host.h"

#define NOBODY 65534
#define ASK_MS 3000

static int give_up_root(void)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static void print(const struct nc_dns_answer *answer)
{
	char text[NC_ADDRESS_TEXT];

	for (size_t i = 0; i < answer->count; i++)
		printf("%s %u\n", nc_address_text(&answer->addresses[i], text), answer->ttl);
}

/* Whether some server answered; addresses are counted too. */
static bool ask(const struct nc_upstreams *upstreams, const struct nc_dns_name *name, enum nc_dns_type type, size_t *count)
{
	struct nc_lookup *lookup;
	bool done = false, answered;

	if (nc_lookup_start(upstreams, name, type, (uint64_t)nc_now_ms(), &lookup) < 0)
		return false;
	while (!done) {
		struct pollfd fd = {.fd = nc_lookup_fd(lookup), .events = nc_lookup_wants_write(lookup) ? POLLOUT : POLLIN};
		uint64_t now = (uint64_t)nc_now_ms(), due = nc_lookup_due(lookup);

		if (now >= due)
			done = nc_lookup_timeout(lookup, now);
		else if (poll(&fd, 1, (int)(due - now)) > 0)
			done = nc_lookup_step(lookup, (uint64_t)nc_now_ms());
	}
	answered = nc_lookup_answer(lookup)->outcome != NC_DNS_FAILED;
	*count += nc_lookup_answer(lookup)->count;
	print(nc_lookup_answer(lookup));
	nc_lookup_stop(lookup);
	return answered;
}

int nc_edge_ask(int argc, char **argv)
{
	struct nc_upstreams upstreams = {.deadline_ms = ASK_MS};
	struct nc_dns_name name;
	size_t count = 0;
	bool both;

	if (argc < 3 || nc_dns_name_from_text(argv[2], &name) < 0 || give_up_root() < 0)
		return 2;
	for (int i = 3; i < argc && upstreams.count < NC_UPSTREAMS_MAX; i++)
		if (nc_upstream_from_text(argv[i], &upstreams.servers[upstreams.count]) == 0)
			upstreams.count++;
	if (!upstreams.count && nc_upstreams_from_resolv_conf("/etc/resolv.conf", &upstreams) < 0)
		return 1;
	upstreams.deadline_ms = ASK_MS;
	both = ask(&upstreams, &name, NC_DNS_A, &count);
	both &= ask(&upstreams, &name, NC_DNS_AAAA, &count);
	return both || count ? 0 : 1;
}
