/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * launch_statement.c - phase `statement`: what is in force, said before anything runs, signed and durable
 *
 * Everything in it is either what the Runner handed over (digests, its binding, unchanged) or what was asked of the kernel in this launch. Secrets cannot be
 * in it: of the environment the names are recorded, of the command the first word.
 */
#include <errno.h>
#include <netinet/in.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "address.h"
#include "capability.h"
#include "cleanup.h"
#include "clock.h"
#include "evidence_names.h"
#include "instance_state.h"
#include "json.h"
#include "explain.h"
#include "grade.h"
#include "host.h"
#include "launch_state.h"
#include "oci.h"
#include "program_digests.h"
#include "text.h"

/* Which provider each way in is: `exec` adds to what `run` or another has sealed. */
static const enum nc_own_provider own_of[] = {
	[NC_PROVIDER_RUN] = NC_OWN_RUN, [NC_PROVIDER_ATTACH] = NC_OWN_ATTACH, [NC_PROVIDER_OCI] = NC_OWN_OCI, [NC_PROVIDER_EXEC] = NC_OWN_RUN};

const char *nc_provider_word(enum nc_provider provider)
{
	return nc_capability_own_name(own_of[provider]);
}

json_t *nc_launch_generation_json(const struct nc_launch *launch)
{
	return nc_json_u64(nc_claim_generation(launch->claim));
}

static json_t *hex_json(const struct nc_digest *digest)
{
	char hex[NC_DIGEST_HEX];

	nc_digest_hex(digest, hex);
	return json_string(hex);
}

/* Text of the system's or the profile's, in case it is not plain ASCII. */
static json_t *safe_json(const char *text)
{
	size_t length = strlen(text);
	NC_FREE char *safe = malloc(NC_TEXT_SAFE_SIZE(length));

	if (!safe)
		return NULL;
	nc_text_safe(text, length, safe, NC_TEXT_SAFE_SIZE(length));
	return json_string(safe);
}

static json_t *boot_id_json(void)
{
	NC_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[40] = "";

	if (fd < 0 || read(fd, text, 36) != 36)
		return NULL;
	return json_string(text);
}

static json_t *time_json(void)
{
	struct timespec now;
	struct tm tm;
	char text[40];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static json_t *image_json(const struct nc_image *image)
{
	struct nc_digest digest;

	nc_image_digest(image, &digest);
	return json_pack("{s:o, s:s, s:i, s:I}", "digest", hex_json(&digest), "mode", nc_mode_word(image->mode), "flags", image->flags, "entries",
			 (json_int_t)image->count);
}

static json_t *profile_json(const struct nc_launch *launch)
{
	json_t *object =
		json_pack("{s:o, s:s, s:b, s:s}", "digest", hex_json(&launch->profile->digest), "mode", nc_mode_word(launch->profile->mode),
			  "non_public", launch->profile->non_public, "loopback", launch->profile->loopback_own_netns ? "own_netns" : "closed");

	if (object && launch->profile->mode == NC_MODE_ALLOWLIST)
		json_object_set_new(object, "required_egress_certification", json_string(nc_grade_word(launch->profile->required)));
	return object;
}

static int compare_text(const void *name, const void *image_name)
{
	return strcmp(name, (const char *)((const struct nc_image_name *)image_name)->key.text);
}

/* With the number under which the kernel holds each name, as it was read back: it is how events speak of it. */
static json_t *bindings_json(const struct nc_destination *destinations, size_t count, const struct nc_image *image)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < count; i++) {
		const struct nc_destination *one = &destinations[i];
		const struct nc_image_name *name;

		if (one->literal)
			continue;
		name = image->name_count ? bsearch(one->name, image->names, image->name_count, sizeof(*image->names), compare_text) : NULL;
		if (!name || json_array_append_new(rows, json_pack("{s:s, s:I, s:i, s:s, s:s}", "host", one->name, "name_id", (json_int_t)name->id,
								   "port", (int)one->port, "protocol", one->protocol == IPPROTO_UDP ? "udp" : "tcp",
								   "name_binding", one->wire == NC_WIRE_ANY ? "address" : "wire")) < 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

json_t *nc_launch_name_binding(const struct nc_profile *profile, const struct nc_image images[2])
{
	return json_pack("{s:o, s:o}", "workload", bindings_json(profile->destinations, profile->destination_count, &images[0]), "plane",
			 bindings_json(profile->plane_destinations, profile->plane_destination_count, &images[1]));
}

static json_t *closures_json(const struct nc_launch *launch, json_t *gaps)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < launch->closure_count; i++) {
		const struct nc_closure *row = &launch->closures[i];

		json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "path", row->path, "state", nc_closure_state_word(row->state), "mechanism",
						      row->mechanism));
		if (row->state == NC_CLOSURE_GAP)
			json_array_append_new(gaps, json_string(row->path));
	}
	return rows;
}

static json_t *names_json(char *const *assignments)
{
	json_t *names = json_array();

	for (char *const *one = assignments; names && one && *one; one++)
		json_array_append_new(names, json_stringn(*one, strcspn(*one, "=")));
	return names;
}

static json_t *descriptors_json(const struct nc_launch *launch)
{
	json_t *rows = json_array();

	for (int fd = 0; rows && fd < 3; fd++)
		json_array_append_new(rows, json_pack("{s:i, s:s}", "fd", fd, "kind", launch->stdio.kinds[fd]));
	return rows;
}

static void add_rule(void *context, const char *call, const char *reason)
{
	json_t *calls = context;
	size_t index;
	json_t *seen;

	(void)reason;
	json_array_foreach(calls, index, seen)
	{
		if (strcmp(json_string_value(seen), call) == 0)
			return;
	}
	json_array_append_new(calls, json_string(call));
}

static json_t *seccomp_json(const struct nc_launch *launch)
{
	json_t *calls = json_array();

	nc_seccomp_rules(&launch->seccomp_choice, add_rule, calls);
	return json_pack("{s:o, s:o, s:b, s:b}", "digest", hex_json(&launch->seccomp.digest), "calls", calls, "unix_refused",
			 launch->seccomp_choice.refuse_unix, "io_uring_refused", !launch->seccomp_choice.allow_io_uring);
}

/* What the child will be; each of it is made so in `birth`, or there is no command. */
static json_t *process_json(const struct nc_launch *launch)
{
	const struct nc_profile_process *process = &launch->profile->process;

	return json_pack("{s:I, s:I, s:[], s:b, s:b, s:[], s:o, s:[sss], s:o, s:o, s:s, s:o, s:o}", "uid", (json_int_t)launch->identity.uid, "gid",
			 (json_int_t)launch->identity.gid, "groups", "uid_own", launch->identity.own, "no_new_privs", 1, "capabilities", "seccomp",
			 seccomp_json(launch), "namespaces", "ipc", "mount", "pid", "environment", names_json(process->env), "descriptors",
			 descriptors_json(launch), "session", "own", "limits", nc_limits_json(process, &launch->limits), "command",
			 safe_json(launch->options->command[0]));
}

static int add(json_t *document, const char *name, json_t *value)
{
	return value ? json_object_set_new(document, name, value) : -1;
}

static json_t *host_json(void)
{
	struct utsname names;

	uname(&names);
	return json_pack("{s:o, s:o}", "kernel", safe_json(names.release), "architecture", safe_json(names.machine));
}

static json_t *nat64_json(const struct nc_settings *settings)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; rows && i < settings->nat64_count; i++) {
		char text[NC_PREFIX_TEXT];

		json_array_append_new(rows, json_string(nc_prefix_text(&settings->nat64[i], text)));
	}
	return rows;
}

static json_t *network_json(const struct nc_launch *launch)
{
	return json_pack("{s:o, s:b, s:s, s:o}", "netns_cookie", nc_json_u64(launch->netns_cookie), "netns_given", launch->netns_fd >= 0,
			 "address_registry", NC_ADDRESS_REGISTRY_DATE, "nat64", nat64_json(&launch->sealed_nat64));
}

/* What of the provider's axes this launch has made so: whatever of it fails ends the launch. */
static json_t *enforcement_json(const struct nc_launch *launch)
{
	return nc_capability_own_enforcement(own_of[launch->provider]);
}

static json_t *container_json(const struct nc_oci_container *container)
{
	return json_pack("{s:o, s:o, s:s, s:s}", "id", safe_json(container->id), "bundle", safe_json(container->bundle), "profile",
			 container->profile, "chosen_by", container->annotated ? "annotation" : "default");
}

static json_t *cgroups_json(const struct nc_launch *launch)
{
	return json_pack("{s:o, s:o}", "workload", safe_json(nc_claim_cgroup_path(launch->claim, NC_AUTHORITY_WORKLOAD)), "plane",
			 safe_json(nc_claim_cgroup_path(launch->claim, NC_AUTHORITY_PLANE)));
}

#define MEMBERS_MAX 8

/* The statement in the making: its larger members become text as soon as they are known. */
struct composition {
	json_t *document;
	struct nc_json_member members[MEMBERS_MAX];
	size_t count;
};

static void composition_free(struct composition *composition)
{
	for (size_t i = 0; i < composition->count; i++)
		free(composition->members[i].text);
	json_decref(composition->document);
}
#define COMPOSITION __attribute__((cleanup(composition_free))) struct composition

/* Takes `value`. */
static int add_text(struct composition *composition, const char *name, json_t *value)
{
	NC_JSON json_t *owned = value;
	struct nc_json_member *member;
	struct nc_error ignored; /* no memory: the caller says so; what the canonical form cannot hold is made nowhere here */

	if (!owned || composition->count == MEMBERS_MAX)
		return -1;
	member = &composition->members[composition->count];
	member->name = name;
	if (nc_json_canonical(owned, &member->text, &member->length, &ignored) < 0)
		return -1;
	composition->count++;
	return 0;
}

static int compose(struct nc_launch *launch, struct composition *composition, struct nc_error *reterr)
{
	NC_JSON json_t *gaps = json_array();
	json_t *programs = NULL, *document = composition->document = json_object();
	const struct nc_launch_options *options = launch->options;
	int r = nc_program_digests(launch->host, &launch->effective, launch->runtime, options->host->manifest, &programs, reterr);

	if (r < 0)
		return r;
	/* clang-format off */
	r = add_text(composition, "programs", programs) || !gaps || !document ||
	    add(document, "version", json_integer(1)) ||
	    add(document, "provider", json_string(nc_provider_word(launch->provider))) ||
	    add(document, "provider_revision", json_string(options->provider_revision ? options->provider_revision : "dev")) ||
	    add(document, "manifest", json_string(options->host->manifest)) ||
	    add(document, "instance", json_string(launch->instance)) ||
	    add(document, "generation", nc_launch_generation_json(launch)) ||
	    add(document, "boot_id", boot_id_json()) ||
	    add(document, "time", time_json()) ||
	    add(document, "time_ns", nc_json_u64(nc_clock_boot_ns())) ||
	    add(document, "host", host_json()) ||
	    (launch->binding && add(document, "binding", json_deep_copy(launch->binding))) ||
	    add(document, "profile", profile_json(launch)) ||
	    add(document, "images", json_pack("{s:o, s:o}", "workload", image_json(&launch->images[0]), "plane", image_json(&launch->images[1]))) ||
	    add_text(composition, "name_binding", nc_launch_name_binding(launch->profile, launch->images)) ||
	    add(document, "plane_credentials", names_json(launch->profile->plane_credentials)) ||
	    add_text(composition, "closures", closures_json(launch, gaps)) ||
	    add(document, "gaps", json_incref(gaps)) ||
	    (launch->provider == NC_PROVIDER_RUN && add_text(composition, "process", process_json(launch))) ||
	    (nc_provider_seals_others(launch->provider) && add(document, "left_to_others", json_incref(launch->left_to_others))) ||
	    add(document, "enforcement", enforcement_json(launch)) ||
	    (options->container && add(document, "container", container_json(options->container))) ||
	    add(document, "network", network_json(launch)) ||
	    add(document, "cgroups", cgroups_json(launch)) ||
	    (launch->edge.pid && add(document, "edge", json_pack("{s:I}", "uid", (json_int_t)launch->edge.uid)));
	/* clang-format on */
	return r ? nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for the launch statement") : 0;
}

static int make_parents(char *path, struct nc_error *reterr)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return nc_error_sys(reterr, NC_E_EVIDENCE_UNWRITABLE, -errno, "make the folder %s", path);
		*slash = '/';
	}
	return 0;
}

static int choose_folder(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_launch_options *options = launch->options;
	int length;

	if (options->evidence)
		length = snprintf(launch->evidence_folder, NC_PATH_MAX, "%s", options->evidence);
	else
		length = snprintf(launch->evidence_folder, NC_PATH_MAX, "%s/%s-%llu",
				  options->evidence_parent ? options->evidence_parent : NC_EVIDENCE_PARENT, launch->instance,
				  (unsigned long long)nc_claim_generation(launch->claim));
	if (length >= NC_PATH_MAX)
		return nc_error_set(reterr, NC_E_EVIDENCE_UNWRITABLE, -ENAMETOOLONG, "the evidence folder's path is too long");
	return options->evidence ? 0 : make_parents(launch->evidence_folder, reterr);
}

int nc_phase_statement(struct nc_launch *launch, struct nc_error *reterr)
{
	COMPOSITION composition = {0};
	int r = choose_folder(launch, reterr) ?: compose(launch, &composition, reterr);

	if (r < 0)
		return r;
	/* on its way to the disk while the canary sings; nobody hears of it, and nothing of the workload runs, before it has arrived */
	return nc_evidence_begin_soon(launch->evidence_folder, composition.document, composition.members, composition.count, launch->key,
				      launch->options->attester ? launch->options->attester : "local", &launch->evidence, reterr);
}

/* An instance that nobody was ever told about or used leaves nothing behind; another leaves a folder that shows how far it came. */
void nc_undo_statement(struct nc_launch *launch)
{
	static const char *const files[] = {NC_EVIDENCE_LAUNCH, NC_EVIDENCE_LAUNCH ".sig", NC_EVIDENCE_CHECKPOINT, NC_EVIDENCE_CHECKPOINT ".sig",
					    NC_EVIDENCE_LOG};
	NC_CLOSE int fd = -1;

	json_decref(launch->passed);
	launch->passed = NULL;
	json_decref(launch->left_to_others);
	launch->left_to_others = NULL;
	if (!launch->evidence)
		return;
	nc_evidence_abandon(launch->evidence);
	launch->evidence = NULL;
	if (launch->sealed_told || launch->used)
		return;
	fd = open(launch->evidence_folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	for (size_t i = 0; fd >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(fd, files[i], 0);
	rmdir(launch->evidence_folder);
}
