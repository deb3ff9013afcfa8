// SPDX-License-Identifier: GPL-2.0-only
/*
 * grants.c - addresses that a listed name holds for a time
 *
 * Two kinds of entry in the map: {address, name} says that the name holds the address, until when; the witness {address, port, protocol} names one live
 * owner, so that connect needs one look; the open witness is the same among the owners at whose port no name is compared on the wire. The book here holds
 * {address, name, ports, expiry} for every grant of the claim; the witness is always the owner that lives longest, so an expiry never leaves a witness
 * pointing at a dead owner while another lives, and no name displaces another.
 *
 * The two authorities share nothing: a witness is looked for under its authority, and a name's id says whose it is.
 *
 * Before a switch of policies the ports that a name loses are marked (nc_claim_grant_leaving): an owner that stays is preferred as witness from then on, so
 * that before and after the one store a connect that both policies allow finds an owner that is listed.
 *
 * New entries are written before anything is answered to the workload; if the map is full half way, what was new is taken back.
 *
 * The map is one for the host, and what fills it is chosen by whoever owns a listed name: so each instance has a share of it, and each name at most
 * half of that. What goes beyond is refused to that instance alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "inside.h"

#define BOOK_STEP 64
#define SECOND 1000000000ull
#define SHARE_OF_POOL 16
#define SHARE_LEAST 1024 /* a hundred names of three addresses at a port each, and as many again while the answers change */

struct grant {
	union nc_address address;
	uint32_t name_id;
	uint64_t expires_ns;
};

struct port {
	struct nc_grant_port port;
	bool leaves; /* the next policy does not list it */
};

/* The ports that the policy lists for a name: the same for all of its grants. */
struct name_ports {
	uint32_t name_id;
	uint32_t count;
	uint32_t held; /* grants of the name in the book */
	struct port *ports;
};

struct nc_grant_book {
	struct grant *grants;
	size_t count, room;
	struct name_ports *names;
	size_t name_count;
};

void nc_grant_book_free(struct nc_grant_book *book)
{
	if (!book)
		return;
	for (size_t i = 0; i < book->name_count; i++)
		free(book->names[i].ports);
	free(book->names);
	free(book->grants);
	free(book);
}

static uint32_t authority_of(uint32_t name_id)
{
	return name_id & NC_NAME_ID_PLANE ? NC_AUTHORITY_PLANE : NC_AUTHORITY_WORKLOAD;
}

static struct nc_grant_key witness_key(const struct nc_claim *claim, const struct grant *grant, const struct nc_grant_port *port, uint8_t kind)
{
	struct nc_grant_key key = {
		.generation = claim->record.generation,
		.address = grant->address,
		.authority = authority_of(grant->name_id),
		.port_be = port->port_be,
		.protocol = port->protocol,
		.kind = kind,
	};

	return key;
}

static struct nc_grant_key name_key(const struct nc_claim *claim, const union nc_address *address, uint32_t name_id)
{
	struct nc_grant_key key = {
		.generation = claim->record.generation,
		.address = *address,
		.name_id = name_id,
		.kind = NC_GRANT_NAME,
	};

	return key;
}

/* ---- the book -------------------------------------------------------------------------------------------------------------------------------- */

static struct name_ports *find_name(struct nc_grant_book *book, uint32_t name_id)
{
	for (size_t i = 0; i < book->name_count; i++)
		if (book->names[i].name_id == name_id)
			return &book->names[i];
	return NULL;
}

static struct grant *find_grant(struct nc_grant_book *book, const union nc_address *address, uint32_t name_id)
{
	for (size_t i = 0; i < book->count; i++)
		if (book->grants[i].name_id == name_id && !memcmp(&book->grants[i].address, address, sizeof(*address)))
			return &book->grants[i];
	return NULL;
}

static int set_ports(struct nc_grant_book *book, uint32_t name_id, const struct nc_grant_port *ports, size_t count)
{
	struct name_ports *name = find_name(book, name_id);
	struct port *copy = malloc(count * sizeof(*copy) + 1);

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		copy[i] = (struct port){.port = ports[i]};
	if (!name) {
		struct name_ports *names = reallocarray(book->names, book->name_count + 1, sizeof(*names));

		if (!names) {
			free(copy);
			return -ENOMEM;
		}
		book->names = names;
		name = &names[book->name_count++];
		*name = (struct name_ports){.name_id = name_id};
	}
	free(name->ports);
	name->ports = copy;
	name->count = (uint32_t)count;
	return 0;
}

static int make_room(struct nc_grant_book *book, size_t more)
{
	size_t room = book->count + more + BOOK_STEP;
	struct grant *grants;

	if (book->count + more <= book->room)
		return 0;
	grants = reallocarray(book->grants, room, sizeof(*grants));
	if (!grants)
		return -ENOMEM;
	book->grants = grants;
	book->room = room;
	return 0;
}

static bool same_port(const struct nc_grant_port *a, const struct nc_grant_port *b)
{
	return a->port_be == b->port_be && a->protocol == b->protocol;
}

static const struct port *find_port(const struct name_ports *name, const struct nc_grant_port *port)
{
	for (uint32_t i = 0; name && i < name->count; i++)
		if (same_port(&name->ports[i].port, port))
			return &name->ports[i];
	return NULL;
}

/* The owner of {authority, address, port, protocol} that stays and lives longest, of those that a witness of this kind may name, other than the name
 * `except` (0: none). NULL: nobody. */
static const struct grant *longest_owner(struct nc_grant_book *book, uint32_t authority, const union nc_address *address,
					 const struct nc_grant_port *port, uint8_t kind, uint32_t except)
{
	const struct grant *best = NULL;
	bool best_leaves = true;

	for (size_t i = 0; i < book->count; i++) {
		const struct grant *grant = &book->grants[i];
		const struct port *listed;

		if (grant->name_id == except || authority_of(grant->name_id) != authority || memcmp(&grant->address, address, sizeof(*address)))
			continue;
		listed = find_port(find_name(book, grant->name_id), port);
		if (!listed || (kind == NC_GRANT_OPEN && !listed->port.open) || (best && listed->leaves && !best_leaves))
			continue;
		if (best && listed->leaves == best_leaves && grant->expires_ns <= best->expires_ns)
			continue;
		best = grant;
		best_leaves = listed->leaves;
	}
	return best;
}

/* ---- the share ------------------------------------------------------------------------------------------------------------------------------- */

/* What a grant takes in the map: its own entry and a witness of each kind for each port. Two names may share a witness; each is counted as if it had
 * its own. */
static uint64_t entries_of(const struct nc_grant_port *ports, size_t count)
{
	uint64_t entries = 1;

	for (size_t i = 0; i < count; i++)
		entries += ports[i].open ? 2 : 1;
	return entries;
}

static uint64_t held_by(const struct name_ports *name)
{
	uint64_t entries = 1;

	for (uint32_t i = 0; i < name->count; i++)
		entries += name->ports[i].port.open ? 2 : 1;
	return name->held * entries;
}

static int share_of(const struct nc_claim *claim, int map_fd, uint64_t *ret_share, struct nc_error *reterr)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	*ret_share = claim->host->grant_share;
	if (*ret_share)
		return 0;
	if (bpf_obj_get_info_by_fd(map_fd, &info, &size))
		return nc_error_sys(reterr, NC_E_SYSTEM, -errno, "ask how large the map of grants is");
	*ret_share = info.max_entries / SHARE_OF_POOL > SHARE_LEAST ? info.max_entries / SHARE_OF_POOL : SHARE_LEAST;
	return 0;
}

/* Would the name, with `held` grants at these ports, go beyond what this instance or one of its names may hold? */
static int check_share(const struct nc_claim *claim, int map_fd, uint32_t name_id, size_t held, const struct nc_grant_port *ports, size_t port_count,
		       struct nc_error *reterr)
{
	uint64_t wanted = held * entries_of(ports, port_count), others = 0, share;
	int r = share_of(claim, map_fd, &share, reterr);

	if (r < 0)
		return r;
	for (size_t i = 0; i < claim->grants->name_count; i++)
		others += claim->grants->names[i].name_id == name_id ? 0 : held_by(&claim->grants->names[i]);
	if (wanted <= share / 2 && wanted + others <= share)
		return 0;
	nc_error_set(reterr, NC_E_POLICY_FULL, -EDQUOT,
		     "%zu addresses at %zu ports would take %llu entries of the instance's share of %llu, of which one name may have half and others "
		     "hold %llu",
		     held, port_count, (unsigned long long)wanted, (unsigned long long)share, (unsigned long long)others);
	return nc_error_hint(reterr, "list fewer ports for the name, or raise pools.grant_share in the configuration");
}

/* ---- the map --------------------------------------------------------------------------------------------------------------------------------- */

static int put(int map_fd, const struct nc_grant_key *key, uint32_t name_id, uint64_t expires_ns)
{
	struct nc_grant_value value = {.expires_ns = expires_ns, .name_id = name_id};

	return bpf_map_update_elem(map_fd, key, &value, BPF_ANY);
}

/* The witness of each kind for the grant's address is the owner that lives longest, other than `except`; nobody's when there is none. */
static int put_witnesses(struct nc_claim *claim, int map_fd, const struct grant *grant, const struct nc_grant_port *port, uint32_t except)
{
	static const uint8_t kinds[] = {NC_GRANT_WITNESS, NC_GRANT_OPEN};
	int r = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && r == 0; i++) {
		const struct grant *owner = longest_owner(claim->grants, authority_of(grant->name_id), &grant->address, port, kinds[i], except);
		struct nc_grant_key key = witness_key(claim, grant, port, kinds[i]);

		if (owner)
			r = put(map_fd, &key, owner->name_id, owner->expires_ns);
		else
			bpf_map_delete_elem(map_fd, &key);
	}
	return r;
}

/* Takes the grant's entries away, or hands its witnesses to the next owner: those exist, and an exchange needs no room. */
static void remove_entries(struct nc_claim *claim, int map_fd, const struct grant *grant)
{
	const struct name_ports *name = find_name(claim->grants, grant->name_id);
	struct nc_grant_key key = name_key(claim, &grant->address, grant->name_id);

	bpf_map_delete_elem(map_fd, &key);
	for (uint32_t i = 0; name && i < name->count; i++)
		put_witnesses(claim, map_fd, grant, &name->ports[i].port, grant->name_id);
}

static void drop_grant(struct nc_claim *claim, int map_fd, size_t index)
{
	struct nc_grant_book *book = claim->grants;
	struct name_ports *name = find_name(book, book->grants[index].name_id);

	remove_entries(claim, map_fd, &book->grants[index]);
	if (name)
		name->held--;
	book->grants[index] = book->grants[--book->count];
}

static void drop_expired(struct nc_claim *claim, int map_fd)
{
	uint64_t now = nc_boot_ns();

	for (size_t i = claim->grants->count; i-- > 0;)
		if (claim->grants->grants[i].expires_ns <= now)
			drop_grant(claim, map_fd, i);
}

static int write_entries(struct nc_claim *claim, int map_fd, const struct grant *grant)
{
	const struct name_ports *name = find_name(claim->grants, grant->name_id);
	struct nc_grant_key key = name_key(claim, &grant->address, grant->name_id);
	int r = put(map_fd, &key, grant->name_id, grant->expires_ns);

	for (uint32_t i = 0; r == 0 && i < name->count; i++)
		r = put_witnesses(claim, map_fd, grant, &name->ports[i].port, 0);
	return r;
}

static int grant_one(struct nc_claim *claim, int map_fd, uint32_t name_id, const union nc_address *address, uint64_t expires_ns)
{
	struct nc_grant_book *book = claim->grants;
	struct grant *grant = find_grant(book, address, name_id);
	bool fresh = !grant;
	int r;

	if (!fresh && grant->expires_ns >= expires_ns)
		return 0;
	if (fresh) {
		grant = &book->grants[book->count++];
		*grant = (struct grant){.address = *address, .name_id = name_id};
		find_name(book, name_id)->held++;
	}
	grant->expires_ns = expires_ns;
	r = write_entries(claim, map_fd, grant);
	if (r && fresh)
		drop_grant(claim, map_fd, (size_t)(grant - book->grants));
	return r;
}

/* ---- the door -------------------------------------------------------------------------------------------------------------------------------- */

static int open_book(struct nc_claim *claim, int *ret_map_fd, struct nc_error *reterr)
{
	if (!claim->owner)
		return nc_error_set(reterr, NC_E_SYSTEM, -EPERM, "only the owner changes an instance");
	if (!claim->grants)
		claim->grants = calloc(1, sizeof(*claim->grants));
	if (!claim->grants)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for grants");
	return nc_host_map(claim->host, NC_MAP_GRANTS, ret_map_fd, reterr);
}

int nc_claim_grant(struct nc_claim *claim, uint32_t name_id, const union nc_address *addresses, size_t count, const struct nc_grant_port *ports,
		   size_t port_count, uint32_t lifetime, struct nc_error *reterr)
{
	uint64_t expires_ns = nc_boot_ns() + lifetime * SECOND;
	const struct name_ports *name;
	size_t before, held = 0;
	int map_fd;
	int r = open_book(claim, &map_fd, reterr);

	if (r < 0)
		return r;
	drop_expired(claim, map_fd);
	for (size_t i = 0; i < count; i++)
		held += !find_grant(claim->grants, &addresses[i], name_id);
	name = find_name(claim->grants, name_id);
	r = check_share(claim, map_fd, name_id, held + (name ? name->held : 0), ports, port_count, reterr);
	if (r < 0)
		return r;
	if (set_ports(claim->grants, name_id, ports, port_count) < 0 || make_room(claim->grants, count) < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for grants");
	before = claim->grants->count;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = grant_one(claim, map_fd, name_id, &addresses[i], expires_ns);
	if (r == 0)
		return 0;
	while (claim->grants->count > before)
		drop_grant(claim, map_fd, claim->grants->count - 1);
	if (r == -E2BIG || r == -ENOSPC || r == -ENOMEM) {
		nc_error_set(reterr, NC_E_POLICY_FULL, r, "the map of grants, which all instances share, is full");
		return nc_error_hint(reterr, "raise pools.grant_entries in the configuration, then netcordon host down and host up");
	}
	return nc_error_sys(reterr, NC_E_SYSTEM, r, "install a grant");
}

int nc_claim_grant_ports(struct nc_claim *claim, uint32_t name_id, const struct nc_grant_port *ports, size_t count, struct nc_error *reterr)
{
	struct name_ports *name;
	NC_FREE struct port *old = NULL;
	uint32_t old_count;
	int map_fd;
	int r = open_book(claim, &map_fd, reterr);

	name = r < 0 ? NULL : find_name(claim->grants, name_id);
	if (!name)
		return r;
	r = check_share(claim, map_fd, name_id, name->held, ports, count, reterr);
	if (r < 0)
		return r;
	old = NC_TAKE_PTR(name->ports);
	old_count = name->count;
	name->count = 0;
	if (set_ports(claim->grants, name_id, ports, count) < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for grants");
	for (size_t i = 0; i < claim->grants->count && r == 0; i++) {
		const struct grant *grant = &claim->grants->grants[i];

		if (grant->name_id != name_id)
			continue;
		r = write_entries(claim, map_fd, grant);
		for (uint32_t j = 0; j < old_count && r == 0; j++)
			r = find_port(name, &old[j].port) ? 0 : put_witnesses(claim, map_fd, grant, &old[j].port, 0);
	}
	return r ? nc_error_sys(reterr, r == -E2BIG ? NC_E_POLICY_FULL : NC_E_SYSTEM, r, "give a name's grants other ports") : 0;
}

int nc_claim_grant_leaving(struct nc_claim *claim, uint32_t name_id, const struct nc_grant_port *staying, size_t count, struct nc_error *reterr)
{
	struct name_ports *name;
	bool changed = false;
	int map_fd;
	int r = open_book(claim, &map_fd, reterr);

	name = r < 0 ? NULL : find_name(claim->grants, name_id);
	for (uint32_t i = 0; name && i < name->count; i++) {
		bool leaves = true;

		for (size_t j = 0; j < count && leaves; j++)
			leaves = !same_port(&name->ports[i].port, &staying[j]);
		changed |= leaves != name->ports[i].leaves;
		name->ports[i].leaves = leaves;
	}
	for (size_t i = 0; changed && i < claim->grants->count && r == 0; i++)
		if (claim->grants->grants[i].name_id == name_id)
			r = write_entries(claim, map_fd, &claim->grants->grants[i]);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "hand a leaving name's grants on") : 0;
}

bool nc_claim_granted(struct nc_claim *claim, enum nc_authority authority, const union nc_address *address, const struct nc_grant_port *port)
{
	const struct grant *owner =
		claim->grants ? longest_owner(claim->grants, authority, address, port, port->open ? NC_GRANT_OPEN : NC_GRANT_WITNESS, 0) : NULL;

	return owner && owner->expires_ns > nc_boot_ns();
}

int nc_claim_revoke(struct nc_claim *claim, uint32_t name_id, struct nc_error *reterr)
{
	int map_fd;
	int r = open_book(claim, &map_fd, reterr);

	if (r < 0)
		return r;
	for (size_t i = claim->grants->count; i-- > 0;)
		if (claim->grants->grants[i].name_id == name_id)
			drop_grant(claim, map_fd, i);
	return 0;
}

static int mark(struct nc_claim *claim, uint32_t authority, int socket_fd, struct nc_error *reterr)
{
	struct nc_resolver_mark mark = {.generation = claim->record.generation, .authority = authority};
	int map_fd;
	int r = nc_host_map(claim->host, NC_MAP_RESOLVERS, &map_fd, reterr);

	if (r < 0)
		return r;
	r = bpf_map_update_elem(map_fd, &socket_fd, &mark, BPF_ANY);
	return r ? nc_error_sys(reterr, NC_E_SYSTEM, r, "mark a socket of the supervisor's") : 0;
}

int nc_claim_mark_resolver(struct nc_claim *claim, enum nc_authority authority, int socket_fd, struct nc_error *reterr)
{
	return mark(claim, authority, socket_fd, reterr);
}

int nc_claim_mark_canary(struct nc_claim *claim, int socket_fd, struct nc_error *reterr)
{
	return mark(claim, 0, socket_fd, reterr);
}
