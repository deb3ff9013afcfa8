// SPDX-License-Identifier: GPL-2.0-only
/* attempt_device.c - devices: network devices of one's own, from which the host forwards or for which it wraps, and nodes that lead past sockets */
#include "attempt.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- nodes -------------------------------------------------------------------------------------------------------------------------------------- */

static int open_node(struct attempt *a, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	return step(a, "open", fd) ? -1 : fd;
}

/* Impossible: there is no such device behind the numbers, or the file system shows no devices. */
static enum outcome node_outcome(struct attempt *a, const char *path)
{
	struct statvfs where;

	if (a->error == ENOENT || a->error == ENODEV || a->error == ENXIO)
		return IMPOSSIBLE;
	return a->error == EACCES && !statvfs(path, &where) && where.f_flag & ST_NODEV ? IMPOSSIBLE : fail(a);
}

enum outcome verb_hold_device(struct attempt *a, char **args)
{
	if (open_node(a, args[0]) < 0)
		return node_outcome(a, args[0]);
	wait_for(args[1]);
	return THROUGH;
}

enum outcome verb_make_device(struct attempt *a, char **args)
{
	dev_t numbers = makedev((unsigned)number(args[1]), (unsigned)number(args[2]));
	int fd;

	if (step(a, "mknod", mknod(args[0], S_IFCHR | 0600, numbers)))
		return fail(a);
	fd = open_node(a, args[0]);
	unlink(args[0]);
	return fd < 0 ? fail(a) : THROUGH;
}

/* The caller's own number becomes root's. */
static int write_map(const char *path, unsigned id)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int length = fd < 0 ? -1 : dprintf(fd, "0 %u 1", id);

	if (fd >= 0)
		close(fd);
	return length < 0 ? -1 : 0;
}

static int deny_groups(void)
{
	int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : write(fd, "deny", 4);

	if (fd >= 0)
		close(fd);
	return length < 0 ? -1 : 0;
}

/* As a fuse server does it that needs no help of fusermount: by its own power, in namespaces of its own. */
enum outcome verb_fuse_mount(struct attempt *a, char **args)
{
	unsigned uid = geteuid(), gid = getegid();
	char options[96], source[64];
	int fd;

	if (step(a, "unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS)) || step(a, "setgroups", deny_groups()) ||
	    step(a, "uid_map", write_map("/proc/self/uid_map", uid)) || step(a, "gid_map", write_map("/proc/self/gid_map", gid)))
		return fail(a);
	fd = open_node(a, args[0]); /* the kernel wants both from the same user namespace */
	if (fd < 0)
		return node_outcome(a, args[0]);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	snprintf(source, sizeof(source), "%.*s", (int)strcspn(a->payload, "\n"), a->payload);
	if (step(a, "mount", mount(source, "/mnt", "fuse", MS_NOSUID | MS_NODEV, options)))
		return a->error == ENODEV ? IMPOSSIBLE : fail(a);
	wait_for(args[1]);
	return THROUGH;
}

/* Whether it is there is for whoever was asked to say; through means that somebody could be asked. */
enum outcome verb_look_up(struct attempt *a, char **args)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%.*s", args[0], (int)strcspn(a->payload, "\n"), a->payload);
	if (!step(a, "stat", stat(path, &st)) || a->error == ENOENT)
		return THROUGH;
	return a->error == EPERM ? IMPOSSIBLE : fail(a); /* seen: 7.3, whose automounter serves its own mount namespace alone */
}

/* ---- network devices ---------------------------------------------------------------------------------------------------------------------------- */

static int device_up(struct attempt *a, const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = open_socket(a, AF_INET, SOCK_DGRAM, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return fd < 0 || step(a, "ioctl(SIOCSIFFLAGS)", ioctl(fd, SIOCSIFFLAGS, &request)) ? -1 : 0;
}

/* What is written to the device comes in from it, and goes where the host's routes say. The source is 198.51.100.7 (TEST-NET-2). */
enum outcome verb_tun_send_at(struct attempt *a, char **args)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	struct peer peer = peer_of(args[1], args[2]);
	unsigned char buffer[512];
	size_t size = make_datagram(buffer, sizeof(buffer), htonl(0xc6336407), &peer, a->payload);
	int fd = open_node(a, args[0]);
	ssize_t sent;

	if (fd < 0)
		return node_outcome(a, args[0]);
	if (step(a, "ioctl(TUNSETIFF)", ioctl(fd, TUNSETIFF, &request)) || device_up(a, request.ifr_name))
		return fail(a);
	sent = write(fd, buffer, size);
	if (step(a, "write", sent))
		return fail(a);
	a->sent = sent;
	usleep(100 * 1000); /* the device goes with its descriptor */
	return THROUGH;
}

enum outcome verb_tun_send(struct attempt *a, char **args)
{
	char *arguments[] = {"/dev/net/tun", args[0], args[1]};

	return verb_tun_send_at(a, arguments);
}

struct link_request {
	struct nlmsghdr header;
	struct ifinfomsg info;
	char attributes[256];
};

static struct rtattr *add(struct link_request *request, int type, const void *data, size_t size)
{
	struct rtattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	attribute->rta_type = (unsigned short)type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), data, size);
	request->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
	return attribute;
}

static void end(struct link_request *request, struct rtattr *nest)
{
	nest->rta_len = (unsigned short)((char *)request + request->header.nlmsg_len - (char *)nest);
}

static int make_vxlan(struct attempt *a, const char *name, unsigned int below, const struct sockaddr_in *remote)
{
	struct link_request request = {.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
						  .nlmsg_type = RTM_NEWLINK,
						  .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK}};
	uint32_t id = 7;
	struct rtattr *info, *data;
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} answer = {0};
	int fd = open_socket(a, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	add(&request, IFLA_IFNAME, name, strlen(name) + 1);
	info = add(&request, IFLA_LINKINFO, NULL, 0);
	add(&request, IFLA_INFO_KIND, "vxlan", 6);
	data = add(&request, IFLA_INFO_DATA, NULL, 0);
	add(&request, IFLA_VXLAN_ID, &id, sizeof(id));
	add(&request, IFLA_VXLAN_GROUP, &remote->sin_addr, sizeof(remote->sin_addr));
	add(&request, IFLA_VXLAN_LINK, &below, sizeof(below));
	add(&request, IFLA_VXLAN_PORT, &remote->sin_port, sizeof(remote->sin_port));
	end(&request, data);
	end(&request, info);
	if (fd < 0 || step(a, "send(RTM_NEWLINK)", send(fd, &request, request.header.nlmsg_len, 0)) ||
	    step(a, "recv(RTM_NEWLINK)", recv(fd, &answer, sizeof(answer), 0)))
		return -1;
	errno = -answer.error.error;
	return step(a, "RTM_NEWLINK(vxlan)", answer.error.error);
}

/* The frame inside is to everybody, so that it needs no neighbour; what leaves is a datagram to the tunnel's other end. */
enum outcome verb_vxlan(struct attempt *a, char **args)
{
	struct peer peer = peer_of(args[1], args[2]);
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = 6};
	unsigned char frame[128] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 7, 8, 0};
	ssize_t sent;
	int fd;

	if (make_vxlan(a, "ncvx0", if_nametoindex(args[0]), (struct sockaddr_in *)&peer.address))
		return a->error == EOPNOTSUPP ? IMPOSSIBLE : fail(a);
	if (device_up(a, "ncvx0"))
		return fail(a);
	fd = open_socket(a, AF_PACKET, SOCK_RAW, 0);
	to.sll_ifindex = (int)if_nametoindex("ncvx0");
	snprintf((char *)frame + ETH_HLEN, sizeof(frame) - ETH_HLEN, "%s", a->payload);
	sent = fd < 0 ? -1 : sendto(fd, frame, sizeof(frame), 0, (void *)&to, sizeof(to));
	if (fd < 0 || step(a, "sendto", sent))
		return fail(a);
	a->sent = sent;
	return THROUGH;
}
