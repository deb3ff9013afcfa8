/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_profile.c - what a profile may say, and how each refusal is named
 *
 * Each refusal is a row: the document, the pointer that the error must carry, a part of its detail, a part of its hint. Beside the refusals of a kind
 * stands the nearest document that is accepted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libgen.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "json.h"
#include "profile.h"

/* clang-format off */
#define LIST(entries) "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[" entries "]}}"
#define HOST(host) LIST("{\"host\":\"" host "\",\"port\":443}")
#define PLANE(entries) "{\"version\":1,\"network\":{\"mode\":\"none\"},\"plane\":{\"destinations\":[" entries "]}}"
#define WITH(member) "{\"version\":1,\"network\":{\"mode\":\"none\"}," member "}"
#define PROCESS(member) WITH("\"process\":{" member "}")
#define LABEL63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAME253 LABEL63 "." LABEL63 "." LABEL63 ".aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct refusal {
	const char *text;
	const char *pointer, *detail, *hint;
};

static const struct refusal refusals[] = {
	/* the document */
	{ "", "", "", "" },
	{ "[]", "", "must be an object, not an array", "" },
	{ "null", "", "", "" },
	{ "{}", "", "\"version\" is missing", "" },
	{ "{\"version\":1}", "", "\"network\" is missing", "" },
	{ "{\"version\":2,\"network\":{\"mode\":\"none\"}}", "/version", "must be from 1 to 1", "" },
	{ "{\"version\":\"1\",\"network\":{\"mode\":\"none\"}}", "/version", "must be an integer, not a string", "" },
	{ "{\"version\":1.0,\"network\":{\"mode\":\"none\"}}", "/version", "", "" },
	{ "{\"version\":true,\"network\":{\"mode\":\"none\"}}", "/version", "must be an integer, not a boolean", "" },
	{ "{\"Version\":1,\"network\":{\"mode\":\"none\"}}", "/Version", "unknown key \"Version\"", "write \"version\"" },
	{ "{\"version\":1,\"version\":1,\"network\":{\"mode\":\"none\"}}", "", "", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\"},\"surprise\":1}", "/surprise", "unknown key", "known here: version, network" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\"},\"a/b~c\":1}", "/a~1b~0c", "unknown key \"a/b~c\"", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\"}} {}", "", "", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\",},}", "", "", "" },
	{ "{\"version\":1,\"network\":null}", "/network", "must be an object, not null", "" },
	/* the union; the requirement exists in one member only */
	{ "{\"version\":1,\"network\":{}}", "/network", "\"mode\" is missing", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"open\"}}", "/network/mode", "\"open\" is not a known word", "none, allowlist, unrestricted" },
	{ "{\"version\":1,\"network\":{\"mode\":\"None\"}}", "/network/mode", "not a known word", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\",\"destinations\":[]}}", "/network/destinations", "only inside mode allowlist", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"destinations\":[]}}", "/network/destinations", "only inside mode allowlist", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\",\"non_public\":true}}", "/network/non_public", "only inside mode unrestricted", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[],\"non_public\":false}}", "/network/non_public", "only inside mode unrestricted", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"non_public\":1}}", "/network/non_public", "must be true or false", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"none\",\"required_egress_certification\":\"advisory_filter\"}}", "/network/required_egress_certification", "only inside mode allowlist", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"required_egress_certification\":\"advisory_filter\"}}", "/network/required_egress_certification", "only inside mode allowlist", "" },
	{ WITH("\"required_egress_certification\":\"advisory_filter\""), "/required_egress_certification", "unknown key", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[],\"required_egress_certification\":\"unsupported\"}}", "/network/required_egress_certification", "never a requirement", "advisory_filter, security_boundary" },
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[],\"required_egress_certification\":\"gold\"}}", "/network/required_egress_certification", "not a known word", "advisory_filter" },
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[],\"required_egress_certification\":null}}", "/network/required_egress_certification", "must be a string, not null", "" },
	/* P17: missing and null are errors, [] is none (below) */
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\"}}", "/network", "\"destinations\" is missing", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":null}}", "/network/destinations", "must be an array, not null", "" },
	{ "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":{}}}", "/network/destinations", "must be an array, not an object", "" },
	/* P12, P13: escapes and NUL */
	{ LIST("{\"host\":\"api.example\\uZZZZ.x\",\"port\":443}"), "", "", "" },
	{ LIST("{\"host\":\"\\uX000\",\"port\":443}"), "", "", "" },
	{ LIST("{\"host\":\"\\u00\",\"port\":443}"), "", "", "" },
	{ LIST("{\"host\":\"api\\u0000.example\",\"port\":443}"), "", "", "" },
	{ LIST("{\"host\":\"\\ud800.example\",\"port\":443}"), "", "", "" },
	{ "{\"version\":1,\"network\":{\"mode\\u0000x\":\"unrestricted\",\"mode\":\"none\"}}", "", "", "" },
	/* P03, P20: one bad entry refuses the whole document */
	{ LIST("{\"host\":\"api.example\",\"port\":443},{}"), "/network/destinations/1", "\"host\" is missing", "" },
	{ LIST("{},{\"host\":\"api.example\",\"port\":443}"), "/network/destinations/0", "\"host\" is missing", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":443},{\"host\":\"8.8.8.0/24\",\"port\":443},{\"host\":\"b.example\",\"port\":443}"), "/network/destinations/1/host", "range (CIDR)", "list each address" },
	{ LIST("{\"host\":\"api.example\",\"port\":443},{\"host\":\"*.example\",\"port\":443}"), "/network/destinations/1/host", "wildcard", "exact host" },
	/* entries */
	{ LIST("\"api.example:443\""), "/network/destinations/0", "must be an object, not a string", "\"port\": 443" },
	{ LIST("null"), "/network/destinations/0", "must be an object, not null", "" },
	{ LIST("{\"host\":\"api.example\"}"), "/network/destinations/0", "\"port\" is missing", "" },
	{ LIST("{\"port\":443}"), "/network/destinations/0", "\"host\" is missing", "" },
	{ LIST("{\"host\":17,\"port\":443}"), "/network/destinations/0/host", "must be a string, not a number", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":0}"), "/network/destinations/0/port", "must be from 1 to 65535, not 0", "" }, /* P02 */
	{ LIST("{\"host\":\"api.example\",\"port\":65536}"), "/network/destinations/0/port", "must be from 1 to 65535", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":-1}"), "/network/destinations/0/port", "must be from 1 to 65535", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":\"443\"}"), "/network/destinations/0/port", "must be an integer, not a string", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":443.0}"), "/network/destinations/0/port", "", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":4.43e2}"), "/network/destinations/0/port", "", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":[443]}"), "/network/destinations/0/port", "must be an integer, not an array", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":443,\"Protocol\":\"tcp\"}"), "/network/destinations/0/Protocol", "unknown key", "write \"protocol\"" },
	{ LIST("{\"host\":\"api.example\",\"port\":443,\"protocol\":\"sctp\"}"), "/network/destinations/0/protocol", "not a known word", "tcp, udp" },
	{ LIST("{\"host\":\"api.example\",\"port\":443,\"protocol\":\"TCP\"}"), "/network/destinations/0/protocol", "not a known word", "tcp, udp" },
	{ LIST("{\"host\":\"api.example\",\"port\":443,\"path\":\"/v1\"}"), "/network/destinations/0/path", "unknown key", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":443,\"non_public\":true}"), "/network/destinations/0/non_public", "in a destination of the workload", "plane" },
	{ LIST("{\"host\":\"api.example\",\"port\":443},{\"host\":\"API.Example.\",\"port\":443,\"wire\":\"any\"}"), "/network/destinations/1", "same host, port and protocol as entry 0", "remove" },
	{ LIST("{\"host\":\"8.8.8.8\",\"port\":53},{\"host\":\"a.example\",\"port\":1},{\"host\":\"8.8.8.8\",\"port\":53,\"protocol\":\"tcp\"}"), "/network/destinations/2", "as entry 0", "" },
	{ LIST("{\"host\":\"ns.example\",\"port\":53}"), "/network/destinations/0/port", "port 53 leads to the instance's own resolver", "" },
	/* wire */
	{ LIST("{\"host\":\"api.example\",\"port\":443,\"wire\":\"quic\"}"), "/network/destinations/0/wire", "not a known word", "any, tls, http" },
	{ LIST("{\"host\":\"8.8.8.8\",\"port\":443,\"wire\":\"tls\"}"), "/network/destinations/0/wire", "beside an address literal", "" },
	{ LIST("{\"host\":\"api.example\",\"port\":8080,\"protocol\":\"udp\",\"wire\":\"http\"}"), "/network/destinations/0/wire", "beside UDP", "any" },
	/* hosts: C19, C21, P05, P08, P10, P15 and their kin */
	{ HOST(""), "/network/destinations/0/host", "the host is empty", "" },
	{ HOST("."), "/network/destinations/0/host", "empty label", "" },
	{ HOST("a..example"), "/network/destinations/0/host", "empty label", "" },
	{ HOST(".example"), "/network/destinations/0/host", "empty label", "" },
	{ HOST("api.example.."), "/network/destinations/0/host", "empty label", "" },
	{ HOST("-api.example"), "/network/destinations/0/host", "begins or ends with a hyphen", "" },
	{ HOST("api-.example"), "/network/destinations/0/host", "begins or ends with a hyphen", "" },
	{ HOST("api.exam_ple"), "/network/destinations/0/host", "underscore", "host itself" },
	{ HOST(LABEL63 "a.example"), "/network/destinations/0/host", "a label of 64 characters", "" },
	{ HOST("a" NAME253), "/network/destinations/0/host", "has 254 characters; 253 are allowed", "" },
	{ HOST("a" NAME253 "."), "/network/destinations/0/host", "has 254 characters; 253 are allowed", "" },
	{ HOST("api .example"), "/network/destinations/0/host", "space or control", "" },
	{ HOST(" api.example"), "/network/destinations/0/host", "space or control", "" },
	{ HOST("api.example\\n"), "/network/destinations/0/host", "space or control", "" },
	{ HOST("api.example\\u007f"), "/network/destinations/0/host", "space or control", "" },
	{ HOST("api!.example"), "/network/destinations/0/host", "no host name has", "" },
	{ HOST("\\u212a.example"), "/network/destinations/0/host", "outside ASCII", "xn--" },
	{ HOST("\\u0130.example"), "/network/destinations/0/host", "outside ASCII", "xn--" },
	{ HOST("127\\u30020\\u30020\\u30021"), "/network/destinations/0/host", "outside ASCII", "" },
	{ HOST("api\\uff0eexample"), "/network/destinations/0/host", "outside ASCII", "" },
	{ HOST("b\xc3\xbc""cher.example"), "/network/destinations/0/host", "outside ASCII", "xn--" },
	{ HOST("*"), "/network/destinations/0/host", "wildcard", "" },
	{ HOST("*.com"), "/network/destinations/0/host", "wildcard", "" },
	{ HOST("api.*"), "/network/destinations/0/host", "wildcard", "" },
	{ HOST("https://api.example"), "/network/destinations/0/host", "scheme", "bare host" },
	{ HOST("api.example/v1"), "/network/destinations/0/host", "path", "" },
	{ HOST("api.example:443"), "/network/destinations/0/host", "holds a port", "member of its own" },
	{ HOST("user@api.example"), "/network/destinations/0/host", "user information", "" },
	{ HOST("api.example#x"), "/network/destinations/0/host", "fragment", "" },
	{ HOST("api.example,b.example"), "/network/destinations/0/host", "list", "" },
	{ HOST("api%2eexample"), "/network/destinations/0/host", "percent", "" },
	{ HOST("api.example\\\\x"), "/network/destinations/0/host", "backslash", "" },
	{ HOST("[::1]"), "/network/destinations/0/host", "bracket", "without brackets" },
	{ HOST("[::1]:443"), "/network/destinations/0/host", "bracket", "" },
	{ HOST("[::ffff:10.0.0.1]"), "/network/destinations/0/host", "bracket", "" },
	{ HOST("fe80::1%eth0"), "/network/destinations/0/host", "scope id", "not supported" },
	{ HOST("::ffff:169.254.169.254%lo"), "/network/destinations/0/host", "scope id", "" },
	{ HOST("2001:4860::8/32"), "/network/destinations/0/host", "CIDR", "" },
	{ HOST("8.8.8.8/32"), "/network/destinations/0/host", "CIDR", "" },
	{ HOST("localhost"), "/network/destinations/0/host", "always means loopback", "\"loopback\"" },
	{ HOST("api.LOCALHOST."), "/network/destinations/0/host", "always means loopback", "" },
	/* address spellings */
	{ HOST("010.0.0.1"), "/network/destinations/0/host", "unusual spelling", "8.0.0.1" },
	{ HOST("012.0.0.1"), "/network/destinations/0/host", "unusual spelling", "10.0.0.1" },
	{ HOST("8.8.8.08"), "/network/destinations/0/host", "unusual spelling", "four decimal numbers" },
	{ HOST("0x7f.1"), "/network/destinations/0/host", "unusual spelling", "127.0.0.1" },
	{ HOST("127.1"), "/network/destinations/0/host", "unusual spelling", "127.0.0.1" },
	{ HOST("2130706433"), "/network/destinations/0/host", "unusual spelling", "127.0.0.1" },
	{ HOST("0x08080808"), "/network/destinations/0/host", "unusual spelling", "8.8.8.8" },
	{ HOST("8.8.8.0X8"), "/network/destinations/0/host", "unusual spelling", "8.8.8.8" },
	{ HOST("8.8.8.8."), "/network/destinations/0/host", "unusual spelling", "" },
	{ HOST("256.8.8.8"), "/network/destinations/0/host", "unusual spelling", "" },
	{ HOST("8.8.8.8.8"), "/network/destinations/0/host", "unusual spelling", "" },
	{ HOST("api.example.1"), "/network/destinations/0/host", "unusual spelling", "does not end in a number" },
	{ HOST("1.0x"), "/network/destinations/0/host", "unusual spelling", "" },
	{ HOST("::ffff:8.8.8.8"), "/network/destinations/0/host", "mapped spelling", "write 8.8.8.8" },
	{ HOST("::ffff:808:808"), "/network/destinations/0/host", "mapped spelling", "write 8.8.8.8" },
	{ HOST("::ffff:010.1.1.1"), "/network/destinations/0/host", "not an IPv6 address", "" },
	{ HOST("0:0:0:0:0:ffff:7f00:0001"), "/network/destinations/0/host", "mapped spelling", "write 127.0.0.1" },
	{ HOST("2001:4860:0:0:0:0:0:8"), "/network/destinations/0/host", "canonical spelling", "write 2001:4860::8" },
	{ HOST("2001:4860::0008"), "/network/destinations/0/host", "canonical spelling", "write 2001:4860::8" },
	{ HOST("2001:4860::ABCD"), "/network/destinations/0/host", "canonical spelling", "write 2001:4860::abcd" },
	{ HOST("64:ff9b::8.8.8.8"), "/network/destinations/0/host", "canonical spelling", "write 64:ff9b::808:808" },
	{ HOST("2001:4860:::8"), "/network/destinations/0/host", "not an IPv6 address", "" },
	/* classes */
	{ HOST("169.254.169.254"), "/network/destinations/0/host", "metadata service", "" },
	{ HOST("168.63.129.16"), "/network/destinations/0/host", "metadata service", "" },
	{ HOST("64:ff9b::a83f:8110"), "/network/destinations/0/host", "metadata service", "" },
	{ HOST("169.254.1.1"), "/network/destinations/0/host", "link_local", "public" },
	{ HOST("127.0.0.1"), "/network/destinations/0/host", "127.0.0.1 is not a public address: loopback", "" },
	{ HOST("10.0.0.5"), "/network/destinations/0/host", "private_use", "plane" },
	{ HOST("100.64.0.1"), "/network/destinations/0/host", "shared", "" },
	{ HOST("0.0.0.0"), "/network/destinations/0/host", "this_host", "" },
	{ HOST("::1"), "/network/destinations/0/host", "loopback", "" },
	{ HOST("::"), "/network/destinations/0/host", "this_host", "" },
	{ HOST("fe80::1"), "/network/destinations/0/host", "link_local", "" },
	{ HOST("fd00:ec2::254"), "/network/destinations/0/host", "metadata service", "" },
	{ HOST("fd00::1"), "/network/destinations/0/host", "unique_local", "" },
	{ HOST("2002:a9fe:a9fe::1"), "/network/destinations/0/host", "6to4", "" },
	{ HOST("64:ff9b::a00:5"), "/network/destinations/0/host", "nat64_non_public", "" },
	{ HOST("2001:db8::1"), "/network/destinations/0/host", "documentation", "" },
	/* the plane */
	{ PLANE("{\"host\":\"10.20.0.5\",\"port\":443}"), "/plane/destinations/0/host", "private_use", "\"non_public\": true" },
	{ PLANE("{\"host\":\"10.20.0.5\",\"port\":443,\"non_public\":false}"), "/plane/destinations/0/host", "private_use", "" },
	{ PLANE("{\"host\":\"api.example\",\"port\":443,\"non_public\":true}"), "/plane/destinations/0/non_public", "beside a name", "" },
	{ PLANE("{\"host\":\"169.254.169.254\",\"port\":80,\"non_public\":true}"), "/plane/destinations/0/host", "metadata service", "" },
	{ PLANE("{\"host\":\"224.0.0.1\",\"port\":443,\"non_public\":true}"), "/plane/destinations/0/host", "multicast", "no connection" },
	{ PLANE("{\"host\":\"0.0.0.0\",\"port\":443,\"non_public\":true}"), "/plane/destinations/0/host", "this_host", "no connection" },
	{ PLANE("{\"host\":\"fe80::1\",\"port\":443,\"non_public\":true}"), "/plane/destinations/0/host", "link_local", "no connection" },
	{ WITH("\"plane\":{\"mode\":\"none\"}"), "/plane/mode", "unknown key", "destinations, credentials" },
	{ WITH("\"plane\":{\"credentials\":\"TOKEN\"}"), "/plane/credentials", "must be an array, not a string", "" },
	{ WITH("\"plane\":{\"credentials\":[17]}"), "/plane/credentials/0", "must be the name", "" },
	{ WITH("\"plane\":{\"credentials\":[\"TOKEN=abc\"]}"), "/plane/credentials/0", "not an environment variable's name", "not its value" },
	{ WITH("\"plane\":{\"credentials\":[\"1TOKEN\"]}"), "/plane/credentials/0", "not an environment variable's name", "" },
	{ WITH("\"plane\":{\"credentials\":[\"A\",\"B\",\"A\"]}"), "/plane/credentials/2", "named twice", "" },
	{ WITH("\"process\":{\"env\":{\"TOKEN\":\"x\"}},\"plane\":{\"credentials\":[\"TOKEN\"]}"), "/plane/credentials/0", "stands in the workload's environment", "/process/env" },
	/* loopback, gaps */
	{ WITH("\"loopback\":\"open\""), "/loopback", "not a known word", "closed, own_netns" },
	{ WITH("\"loopback\":true"), "/loopback", "must be a string", "" },
	{ WITH("\"accept_gaps\":[\"everything\"]"), "/accept_gaps/0", "not a gap", "unix_sockets" },
	{ WITH("\"accept_gaps\":[\"unix_sockets\",\"unix_sockets\"]"), "/accept_gaps/1", "named twice", "" },
	{ WITH("\"accept_gaps\":\"unix_sockets\""), "/accept_gaps", "must be an array", "" },
	/* the process */
	{ PROCESS("\"uid\":1000"), "/process/uid", "unknown key", "" },
	{ PROCESS("\"user\":\"root\""), "/process/user", "never runs as root", "" },
	{ PROCESS("\"user\":\"0\""), "/process/user", "never runs as 0", "" },
	{ PROCESS("\"user\":0"), "/process/user", "never runs as 0", "" },
	{ PROCESS("\"group\":0"), "/process/group", "never runs as 0", "" },
	{ PROCESS("\"user\":-1"), "/process/user", "not a user", "" },
	{ PROCESS("\"user\":4294967295"), "/process/user", "not a user id", "" },
	{ PROCESS("\"user\":99999999999"), "/process/user", "not a user id", "" },
	{ PROCESS("\"user\":\"007\""), "/process/user", "not a user id", "" },
	{ PROCESS("\"user\":\"\""), "/process/user", "not a user", "" },
	{ PROCESS("\"user\":\"a b\""), "/process/user", "not a user", "" },
	{ PROCESS("\"user\":\"a:b\""), "/process/user", "not a user", "" },
	{ PROCESS("\"user\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""), "/process/user", "not a user", "" },
	{ PROCESS("\"cwd\":\"work\""), "/process/cwd", "absolute", "" },
	{ PROCESS("\"cwd\":\"\""), "/process/cwd", "absolute", "" },
	{ PROCESS("\"cwd\":\"/a\\nb\""), "/process/cwd", "control character", "" },
	{ PROCESS("\"env\":[]"), "/process/env", "must be an object", "" },
	{ PROCESS("\"env\":{\"A B\":\"x\"}"), "/process/env/A B", "not a variable's name", "" },
	{ PROCESS("\"env\":{\"\":\"x\"}"), "/process/env/", "not a variable's name", "" },
	{ PROCESS("\"env\":{\"A\":1}"), "/process/env/A", "must be a string", "" },
	{ PROCESS("\"umask\":22"), "/process/umask", "must be a string", "" },
	{ PROCESS("\"umask\":\"888\""), "/process/umask", "not a umask", "octal" },
	{ PROCESS("\"umask\":\"1777\""), "/process/umask", "not a umask", "" },
	{ PROCESS("\"limits\":{\"pids\":0}"), "/process/limits/pids", "must be from 1", "" },
	{ PROCESS("\"limits\":{\"memory\":\"2GB\"}"), "/process/limits/memory", "not a size", "512M" },
	{ PROCESS("\"limits\":{\"memory\":\"2g\"}"), "/process/limits/memory", "not a size", "" },
	{ PROCESS("\"limits\":{\"memory\":\"-2G\"}"), "/process/limits/memory", "not a size", "" },
	{ PROCESS("\"limits\":{\"memory\":\"2048\"}"), "/process/limits/memory", "not a size", "integer" },
	{ PROCESS("\"limits\":{\"memory\":\"1.5G\"}"), "/process/limits/memory", "not a size", "" },
	{ PROCESS("\"limits\":{\"memory\":\"999999999999999T\"}"), "/process/limits/memory", "must be from", "" },
	{ PROCESS("\"limits\":{\"memory\":\"4K\"}"), "/process/limits/memory", "must be from", "" },
	{ PROCESS("\"limits\":{\"memory\":true}"), "/process/limits/memory", "must be a size", "" },
	{ PROCESS("\"limits\":{\"cpu\":1}"), "/process/limits/cpu", "unknown key", "cpu_percent" },
	{ PROCESS("\"pty\":\"yes\""), "/process/pty", "must be true or false", "" },
};
/* clang-format on */

static struct nc_profile *parse(const char *text)
{
	struct nc_error error = {0};
	struct nc_profile *profile = NULL;

	if (nc_profile_parse(text, strlen(text), &profile, &error))
		fail_msg("refused at %s: %s\n%s", error.pointer, error.detail, text);
	return profile;
}

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		const struct refusal *row = &refusals[i];
		struct nc_profile *profile = NULL;
		struct nc_error error = {0};

		if (!nc_profile_parse(row->text, strlen(row->text), &profile, &error))
			fail_msg("accepted: %s", row->text);
		assert_null(profile);
		if (error.code != NC_E_PROFILE_INVALID || !error.detail[0] || strchr(error.detail, '\n') ||
		    (*row->pointer && strcmp(error.pointer, row->pointer)) || !strstr(error.detail, row->detail) || !strstr(error.hint, row->hint))
			fail_msg("%s\n  code %d\n  pointer %s, expected %s\n  detail %s\n  expected %s\n  hint %s, expected %s", row->text,
				 error.code, error.pointer, row->pointer, error.detail, row->detail, error.hint, row->hint);
	}
}

/* The document of the design, every member in use. */
static void test_whole(void **state)
{
	static const char text[] =
		"{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":["
		"{\"host\":\"api.example.com\",\"port\":443,\"wire\":\"tls\"},"
		"{\"host\":\"2001:4860::8\",\"port\":8443,\"protocol\":\"udp\"}],"
		"\"required_egress_certification\":\"security_boundary\"},"
		"\"loopback\":\"own_netns\","
		"\"process\":{\"user\":\"sandbox\",\"group\":1000,\"cwd\":\"/work\",\"env\":{\"LANG\":\"C.UTF-8\",\"EMPTY\":\"\"},\"umask\":\"077\","
		"\"limits\":{\"pids\":512,\"memory\":\"2G\",\"cpu_percent\":150,\"open_files\":256,\"core\":0,\"file_size\":\"10M\"},\"pty\":true},"
		"\"plane\":{\"destinations\":[{\"host\":\"10.20.0.5\",\"port\":443,\"non_public\":true}],"
		"\"credentials\":[\"CHECKFU_RUN_TOKEN\"]},\"accept_gaps\":[\"unix_sockets\"]}";
	struct nc_profile *profile = parse(text);
	char address[INET6_ADDRSTRLEN];

	(void)state;
	assert_int_equal(profile->mode, NC_MODE_ALLOWLIST);
	assert_int_equal(profile->required, NC_GRADE_SECURITY_BOUNDARY);
	assert_true(profile->required_given);
	assert_int_equal(profile->destination_count, 2);
	assert_false(profile->destinations[0].literal);
	assert_string_equal(profile->destinations[0].name, "api.example.com");
	assert_int_equal(profile->destinations[0].port, 443);
	assert_int_equal(profile->destinations[0].protocol, IPPROTO_TCP);
	assert_int_equal(profile->destinations[0].wire, NC_WIRE_TLS);
	assert_true(profile->destinations[1].literal);
	assert_string_equal(inet_ntop(AF_INET6, &profile->destinations[1].address, address, sizeof(address)), "2001:4860::8");
	assert_int_equal(profile->destinations[1].protocol, IPPROTO_UDP);
	assert_int_equal(profile->destinations[1].wire, NC_WIRE_ANY);
	assert_true(profile->loopback_own_netns);
	assert_true(profile->unix_gap_accepted);
	assert_string_equal(profile->process.user, "sandbox");
	assert_string_equal(profile->process.group, "1000");
	assert_string_equal(profile->process.cwd, "/work");
	assert_string_equal(profile->process.env[0], "LANG=C.UTF-8");
	assert_string_equal(profile->process.env[1], "EMPTY=");
	assert_null(profile->process.env[2]);
	assert_int_equal(profile->process.umask, 077);
	assert_int_equal(profile->process.pids, 512);
	assert_int_equal(profile->process.memory_bytes, INT64_C(2) << 30);
	assert_int_equal(profile->process.cpu_percent, 150);
	assert_int_equal(profile->process.open_files, 256);
	assert_int_equal(profile->process.core_bytes, 0);
	assert_int_equal(profile->process.file_bytes, 10 << 20);
	assert_true(profile->process.pty);
	assert_int_equal(profile->plane_destination_count, 1);
	assert_true(profile->plane_destinations[0].non_public);
	assert_string_equal(inet_ntop(AF_INET, profile->plane_destinations[0].address.bytes + 12, address, sizeof(address)), "10.20.0.5");
	assert_string_equal(profile->plane_credentials[0], "CHECKFU_RUN_TOKEN");
	assert_null(profile->plane_credentials[1]);
	nc_profile_free(profile);
}

static void test_defaults(void **state)
{
	struct nc_profile *profile = parse("{\"version\":1,\"network\":{\"mode\":\"none\"}}");

	(void)state;
	assert_int_equal(profile->mode, NC_MODE_NONE);
	assert_false(profile->required_given);
	assert_false(profile->loopback_own_netns);
	assert_false(profile->unix_gap_accepted);
	assert_false(profile->non_public);
	assert_int_equal(profile->destination_count + profile->plane_destination_count, 0);
	assert_string_equal(profile->process.user, "");
	assert_string_equal(profile->process.group, "");
	assert_string_equal(profile->process.cwd, "");
	assert_non_null(profile->process.env);
	assert_null(profile->process.env[0]);
	assert_int_equal(profile->process.umask, -1);
	assert_int_equal(profile->process.pids, -1);
	assert_int_equal(profile->process.memory_bytes, -1);
	assert_int_equal(profile->process.cpu_percent, -1);
	assert_int_equal(profile->process.open_files, -1);
	assert_int_equal(profile->process.core_bytes, -1);
	assert_int_equal(profile->process.file_bytes, -1);
	assert_false(profile->process.pty);
	assert_non_null(profile->plane_credentials);
	assert_null(profile->plane_credentials[0]);
	nc_profile_free(profile);

	profile = parse(LIST(""));
	assert_int_equal(profile->mode, NC_MODE_ALLOWLIST);
	assert_int_equal(profile->required, NC_GRADE_ADVISORY_FILTER);
	assert_false(profile->required_given);
	nc_profile_free(profile);

	profile = parse("{\"version\":1,\"network\":{\"mode\":\"unrestricted\",\"non_public\":true}}");
	assert_int_equal(profile->mode, NC_MODE_UNRESTRICTED);
	assert_true(profile->non_public);
	nc_profile_free(profile);
}

/* The port decides the rule of the wire for names, and only for them. */
static void test_wire_defaults(void **state)
{
	static const struct {
		const char *entry;
		int wire;
	} rows[] = {
		{"{\"host\":\"a.example\",\"port\":443}", NC_WIRE_TLS},
		{"{\"host\":\"a.example\",\"port\":80}", NC_WIRE_HTTP},
		{"{\"host\":\"a.example\",\"port\":8443}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":8443,\"wire\":\"tls\"}", NC_WIRE_TLS},
		{"{\"host\":\"a.example\",\"port\":443,\"wire\":\"any\"}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":443,\"wire\":\"http\"}", NC_WIRE_HTTP},
		{"{\"host\":\"a.example\",\"port\":443,\"protocol\":\"udp\",\"wire\":\"any\"}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":443,\"protocol\":\"udp\"}", NC_WIRE_TLS},
		{"{\"host\":\"a.example\",\"port\":80,\"protocol\":\"udp\"}", NC_WIRE_ANY},
		{"{\"host\":\"a.example\",\"port\":123,\"protocol\":\"udp\"}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":443}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":443,\"wire\":\"any\"}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":443,\"protocol\":\"udp\"}", NC_WIRE_ANY},
		{"{\"host\":\"8.8.8.8\",\"port\":53}", NC_WIRE_ANY},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_profile *profile;

		snprintf(text, sizeof(text), LIST("%s"), rows[i].entry);
		profile = parse(text);
		if (profile->destinations[0].wire != rows[i].wire)
			fail_msg("%s: wire %d, expected %d", rows[i].entry, profile->destinations[0].wire, rows[i].wire);
		nc_profile_free(profile);
	}
}

/* P07: whatever spelling of a name is accepted comes out as the same bytes. */
static void test_host_canonical(void **state)
{
	static const struct {
		const char *host, *name;
	} rows[] = {
		{"API.Example.", "api.example"},
		{"api.example", "api.example"},
		{"API.EXAMPLE", "api.example"},
		{"XN--BCHER-KVA.Example", "xn--bcher-kva.example"},
		{"1.api.example", "1.api.example"},
		{"0x7f.1.example", "0x7f.1.example"},
		{"3com", "3com"},
		{"0xzz", "0xzz"},
		{"r3---sn-x.example", "r3---sn-x.example"},
		{"a", "a"},
		{"notlocalhost", "notlocalhost"},
		{LABEL63 ".example", LABEL63 ".example"},
		{NAME253, NAME253},
		{NAME253 ".", NAME253},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_profile *profile;

		snprintf(text, sizeof(text), HOST("%s"), rows[i].host);
		profile = parse(text);
		assert_false(profile->destinations[0].literal);
		assert_string_equal(profile->destinations[0].name, rows[i].name);
		nc_profile_free(profile);
	}
}

/* C07, C12: what is public stays usable, in one spelling. */
static void test_literals(void **state)
{
	static const char *const rows[] = {"8.8.8.8", "192.0.0.9", "192.0.0.10", "192.0.1.1",	     "100.128.0.0",
					   "2600::1", "20ff::1",   "2003::1",	 "64:ff9b::808:808", "2001:4860:4860::8888"};
	char text[256], back[INET6_ADDRSTRLEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nc_profile *profile;
		const struct nc_destination *destination;

		snprintf(text, sizeof(text), HOST("%s"), rows[i]);
		profile = parse(text);
		destination = &profile->destinations[0];
		assert_true(destination->literal);
		if (strchr(rows[i], ':'))
			inet_ntop(AF_INET6, destination->address.bytes, back, sizeof(back));
		else
			inet_ntop(AF_INET, destination->address.bytes + 12, back, sizeof(back));
		assert_string_equal(back, rows[i]);
		if (!strchr(rows[i], ':'))
			assert_memory_equal(destination->address.bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
		nc_profile_free(profile);
	}
}

/* Ports and protocols are part of what is the same; the plane's list is another list. */
static void test_not_duplicates(void **state)
{
	struct nc_profile *profile =
		parse("{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":["
		      "{\"host\":\"8.8.8.8\",\"port\":53},{\"host\":\"8.8.8.8\",\"port\":53,\"protocol\":\"udp\"},"
		      "{\"host\":\"8.8.8.8\",\"port\":54},{\"host\":\"8.8.4.4\",\"port\":53},{\"host\":\"a.example\",\"port\":54}]},"
		      "\"plane\":{\"destinations\":[{\"host\":\"8.8.8.8\",\"port\":53}]}}");

	(void)state;
	assert_int_equal(profile->destination_count, 5);
	assert_int_equal(profile->plane_destination_count, 1);
	nc_profile_free(profile);
}

/* The order of members and white space leave no trace in the digest, an omitted member does, against the same value given. */
static void test_digest(void **state)
{
	struct nc_profile *a = parse("{\"version\":1,\"network\":{\"mode\":\"none\"}}");
	struct nc_profile *b = parse(" { \"network\" : { \"mode\" : \"\\u006eone\" } ,\n \"version\" : 1 } ");
	struct nc_profile *c = parse("{\"version\":1,\"network\":{\"mode\":\"none\"},\"loopback\":\"closed\"}");
	char hex[NC_DIGEST_HEX];

	(void)state;
	assert_memory_equal(&a->digest, &b->digest, sizeof(a->digest));
	assert_memory_not_equal(&a->digest, &c->digest, sizeof(a->digest));
	nc_digest_hex(&a->digest, hex);
	/* printf '{"network":{"mode":"none"},"version":1}' | sha256sum */
	assert_string_equal(hex, "1588499afaa8e3f32327e0fe8122ce6a2543859b2e440f8261025d32782cd202");
	nc_profile_free(a);
	nc_profile_free(b);
	nc_profile_free(c);
}

static void test_read(void **state)
{
	char path[] = "/tmp/nc-test-profile-XXXXXX", *text = NULL;
	struct nc_error error = {0};
	size_t length = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"a\\u0000", 9), 9);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), 0);
	assert_int_equal(length, 9);
	assert_string_equal(text, "{\"a\\u0000");
	free(text);
	text = NULL;
	/* sparse: one byte more than is allowed */
	assert_int_equal(ftruncate(fd, NC_JSON_SIZE_MAX), 0);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), 0);
	assert_int_equal(length, NC_JSON_SIZE_MAX);
	free(text);
	text = NULL;
	assert_int_equal(ftruncate(fd, NC_JSON_SIZE_MAX + 1), 0);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), -EFBIG);
	assert_int_equal(error.code, NC_E_PROFILE_UNREADABLE);
	assert_null(text);
	close(fd);
	unlink(path);
	assert_int_equal(nc_profile_read(path, &text, &length, &error), -ENOENT);
	assert_int_equal(error.code, NC_E_PROFILE_UNREADABLE);
	assert_int_equal(nc_profile_read("/", &text, &length, &error), -EISDIR);
}

/* Every prefix of a good document is refused, and so is every document with one byte exchanged for one that JSON does not know. */
static void test_truncated(void **state)
{
	static const char text[] = HOST("api.example");
	struct nc_error error = {0};
	struct nc_profile *profile = NULL;

	(void)state;
	for (size_t length = 0; length < sizeof(text) - 1; length++)
		assert_true(nc_profile_parse(text, length, &profile, &error) < 0);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char bad[sizeof(text)];

		memcpy(bad, text, sizeof(text));
		bad[i] = '\x01';
		assert_true(nc_profile_parse(bad, sizeof(bad) - 1, &profile, &error) < 0);
	}
	assert_null(profile);
}

static void test_many(void **state)
{
	size_t count = 100000, size = count * 64, used;
	char *text = malloc(size);
	struct nc_profile *profile;
	struct timespec before, after;

	(void)state;
	assert_non_null(text);
	used = (size_t)sprintf(text, "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[");
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%s{\"host\":\"11.%zu.%zu.%zu\",\"port\":443}", i ? "," : "", i >> 16, i >> 8 & 255, i & 255);
	sprintf(text + used, "]}}");
	clock_gettime(CLOCK_MONOTONIC, &before);
	profile = parse(text);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(profile->destination_count, count);
	assert_string_equal(profile->destinations[0].name, "");
	/* generous: sanitizers and a busy machine must pass, a quadratic search must not */
	assert_true(after.tv_sec - before.tv_sec < 20);
	nc_profile_free(profile);
	free(text);
}

/* The manual's own profiles: each block marked json is accepted, each marked "json refused" is not. */
static void test_manual(void **state)
{
	char file[] = __FILE__, path[512], line[512], document[8192];
	size_t used = 0, accepted = 0, refused = 0;
	int kind = 0; /* 1: to be accepted, 2: to be refused */
	FILE *manual;

	(void)state;
	snprintf(path, sizeof(path), "%s/../../docs/profile.md", dirname(file));
	manual = fopen(path, "r");
	if (!manual)
		fail_msg("%s is missing", path);
	while (fgets(line, sizeof(line), manual)) {
		struct nc_profile *profile = NULL;
		struct nc_error error = {0};

		if (strncmp(line, "```", 3)) {
			if (kind)
				used += (size_t)snprintf(document + used, sizeof(document) - used, "%s", line);
			assert_true(used < sizeof(document));
			continue;
		}
		if (kind == 1) {
			nc_profile_free(parse(document));
			accepted++;
		} else if (kind == 2) {
			if (!nc_profile_parse(document, used, &profile, &error))
				fail_msg("accepted: %s", document);
			refused++;
		}
		kind = kind ? 0 : !strcmp(line, "```json\n") ? 1 : !strcmp(line, "```json refused\n") ? 2 : 0;
		used = 0;
	}
	fclose(manual);
	assert_true(accepted >= 3 && refused >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),       cmocka_unit_test(test_whole),	      cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_wire_defaults),  cmocka_unit_test(test_host_canonical), cmocka_unit_test(test_literals),
		cmocka_unit_test(test_not_duplicates), cmocka_unit_test(test_digest),	      cmocka_unit_test(test_read),
		cmocka_unit_test(test_truncated),      cmocka_unit_test(test_many),	      cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
