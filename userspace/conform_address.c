/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_address.c - random addresses, ports, names and tokens of the matrix's world
 *
 * The classes stand here a second time, on purpose: the matrix tests a classifier and must not choose its addresses with that very classifier.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "conform_stage.h"

static void fill(void *bytes, size_t size)
{
	if (getrandom(bytes, size, 0) != (ssize_t)size)
		abort();
}

/* word, family, fixed bits, then the address as 16 bytes of which the bits behind the fixed ones are random. */
static const struct class
{
	const char *word;
	int bits; /* in the mapped form */
	unsigned char bytes[16];
} classes[] = {
#define V4(a, b, c, d)                                                                                                                               \
	{                                                                                                                                            \
		[10] = 0xff, [11] = 0xff, [12] = a, [13] = b, [14] = c, [15] = d                                                                     \
	}
	{"private10", 96 + 8, V4(10, 0, 0, 0)},
	{"private172", 96 + 12, V4(172, 16, 0, 0)},
	{"private192", 96 + 16, V4(192, 168, 0, 0)},
	{"shared", 96 + 10, V4(100, 64, 0, 0)},
	{"linklocal", 96 + 24, V4(169, 254, 77, 0)},
	{"thisnetwork", 96 + 9, V4(0, 128, 0, 0)},
	{"assignment", 96 + 26, V4(192, 0, 0, 64)},
	{"documentation", 96 + 24, V4(203, 0, 113, 0)},
	{"benchmarking", 96 + 15, V4(198, 18, 0, 0)},
	{"reserved", 96 + 5, V4(240, 0, 0, 0)},
	{"uniquelocal", 8, {0xfd}},
	{"sitelocal", 10, {0xfe, 0xc0}},
	{"documentation6", 32, {0x20, 0x01, 0x0d, 0xb8}},
	{"discard", 64, {0x01, 0x00}},
	{"teredo", 32, {0x20, 0x01, 0, 0}},
	{"orchid", 28, {0x20, 0x01, 0, 0x10}},
	{"sixtofour", 24, {0x20, 0x02, 10}},
	{"nat64", 104, {0, 0x64, 0xff, 0x9b, [12] = 10}},
	{"nat64local", 48, {0, 0x64, 0xff, 0x9b, 0, 1}},
	{"compatible", 104, {[12] = 10}},
	{"translated", 104, {[8] = 0xff, [9] = 0xff, [12] = 10}},
	{"unassigned", 8, {0x50}},
};

/* First octets without any special-purpose range inside, and /16s of assigned global unicast likewise. */
static const unsigned char public4[] = {23, 34, 52, 93, 104, 142, 151};
static const unsigned char public6[][2] = {{0x26, 0x00}, {0x2a, 0x00}, {0x24, 0x00}};

/* Metadata services: single addresses, each good for one run. The first is the one that everybody knows. */
static const struct {
	const char *word;
	unsigned char bytes[16];
} services[] = {
	{"metadata", V4(169, 254, 169, 254)},
	{"metadata", V4(169, 254, 170, 2)},
	{"metadata", V4(169, 254, 170, 23)},
	{"metadata", V4(100, 100, 100, 200)},
	{"metadata", V4(168, 63, 129, 16)},
	{"metadata64", {0, 0x64, 0xff, 0x9b, [12] = 169, 254, 169, 254}},
	{"metadata64", {0, 0x64, 0xff, 0x9b, [12] = 169, 254, 170, 2}},
	{"metadata64", {0, 0x64, 0xff, 0x9b, [12] = 100, 100, 100, 200}},
	{"metadata64", {0, 0x64, 0xff, 0x9b, [12] = 168, 63, 129, 16}},
	{"metadata6", {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}},
	{"metadata6", {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x00, [15] = 0x23}},
	{"metadata6", {0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}},
};

static int find_class(int family, const char *word, struct class *ret_class, struct nc_error *reterr)
{
	unsigned char pick;

	fill(&pick, 1);
	if (!word) {
		ret_class->bits = family == 4 ? 96 + 8 : 16;
		memset(ret_class->bytes, 0, 16);
		if (family == 4) {
			ret_class->bytes[10] = ret_class->bytes[11] = 0xff;
			ret_class->bytes[12] = public4[pick % sizeof(public4)];
		} else {
			memcpy(ret_class->bytes, public6[pick % 3], 2);
		}
		return 0;
	}
	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
		if (!strcmp(services[i].word, word))
			return 0; /* no bits: nothing to draw */
	}
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		if (!strcmp(classes[i].word, word)) {
			*ret_class = classes[i];
			return 0;
		}
	}
	return nc_error_set(reterr, NC_E_WORLD_FAILED, -EINVAL, "there is no address class \"%s\"", word);
}

static void draw(const struct class *class, union nc_address *ret_address)
{
	fill(ret_address->bytes, 16);
	for (int bit = 0; bit < class->bits; bit++) {
		unsigned char mask = (unsigned char)(0x80 >> (bit % 8));

		ret_address->bytes[bit / 8] = (unsigned char)((ret_address->bytes[bit / 8] & ~mask) | (class->bytes[bit / 8] & mask));
	}
	/* Even, so that flipping the last bit gives an address that was not handed out either; and neither .0 nor .255. */
	ret_address->bytes[15] = (unsigned char)((ret_address->bytes[15] & ~1u) | (class->bits > 120 ? class->bytes[15] & 0xff : 0));
	if (ret_address->bytes[15] < 2 || ret_address->bytes[15] > 252)
		ret_address->bytes[15] = (unsigned char)(class->bytes[15] | 2);
}

static bool used(const struct nc_theatre *theatre, const union nc_address *address)
{
	for (size_t i = 0; i < theatre->used_count; i++) {
		if (!memcmp(theatre->used[i].bytes, address->bytes, 15) && (theatre->used[i].bytes[15] | 1) == (address->bytes[15] | 1))
			return true;
	}
	return false;
}

int nc_pick_address(struct nc_theatre *theatre, int family, const char *class, union nc_address *ret_address, struct nc_error *reterr)
{
	union nc_address *grown = realloc(theatre->used, (theatre->used_count + 1) * sizeof(*grown));
	struct class found = {0};
	union nc_address address = {0};
	int r = grown ? find_class(family, class, &found, reterr) : nc_error_sys(reterr, NC_E_WORLD_FAILED, -ENOMEM, "pick an address");

	if (grown)
		theatre->used = grown;
	if (r < 0)
		return r;
	for (size_t i = 0; class && i < sizeof(services) / sizeof(*services); i++) {
		memcpy(address.bytes, services[i].bytes, sizeof(address));
		if (!strcmp(services[i].word, class) && !used(theatre, &address)) {
			theatre->used[theatre->used_count++] = address;
			*ret_address = address;
			return 0;
		}
	}
	for (int tries = 0; found.bits && tries < 1000; tries++) {
		draw(&found, &address);
		if (used(theatre, &address))
			continue;
		theatre->used[theatre->used_count++] = address;
		*ret_address = address;
		return 0;
	}
	return nc_error_set(reterr, NC_E_WORLD_FAILED, -EADDRNOTAVAIL, "no address of class %s is left", class ?: "public");
}

/* Below the ports that the kernel gives to clients, above those that need a privilege. */
uint16_t nc_pick_port(void)
{
	uint16_t port;

	fill(&port, sizeof(port));
	return (uint16_t)(2000 + port % 30000);
}

void nc_pick_token(char token[NC_TOKEN_SIZE])
{
	unsigned char bytes[(NC_TOKEN_SIZE - 1) / 2];

	fill(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

void nc_pick_name(char *ret_name, size_t size)
{
	unsigned char bytes[10];
	char label[sizeof(bytes) + 1] = {0};

	fill(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		label[i] = (char)('a' + bytes[i] % 26);
	snprintf(ret_name, size, "%s.example", label);
}
