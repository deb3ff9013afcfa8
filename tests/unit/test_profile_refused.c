/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_profile_refused.c - what a profile may not say, and how each refusal is named
 *
 * Each is a row: the document, the pointer that the error must carry, a part of its detail, a part of its hint. The nearest documents that are accepted
 * stand in test_profile.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "profile.h"
#include "profile_texts.h"

/* clang-format off */
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
	{ "{\"version\":2,\"network\":{\"mode\":\"none\"}}", "/version", "must be 1", "" },
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

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		const struct refusal *row = &refusals[i];
		struct nc_profile *profile = NULL;
		struct nc_error error = {0};

		if (!nc_profile_parse(row->text, strlen(row->text), NULL, &profile, &error))
			fail_msg("accepted: %s", row->text);
		assert_null(profile);
		if (error.code != NC_E_PROFILE_INVALID || !error.detail[0] || strchr(error.detail, '\n') ||
		    (*row->pointer && strcmp(error.pointer, row->pointer)) || !strstr(error.detail, row->detail) || !strstr(error.hint, row->hint))
			fail_msg("%s\n  code %d\n  pointer %s, expected %s\n  detail %s\n  expected %s\n  hint %s, expected %s", row->text,
				 error.code, error.pointer, row->pointer, error.detail, row->detail, error.hint, row->hint);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
