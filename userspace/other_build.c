/* SPDX-License-Identifier: GPL-2.0-only */
/* other_build.c - instances that another build of netcordon has sealed, in words and in JSON */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "cleanup.h"
#include "evidence_names.h"
#include "folder.h"
#include "instance_state.h"
#include "json.h"
#include "other_build.h"

/* Which revision it calls itself, by the launch statement: of this very build, or nothing. */
static void read_revision(const struct nc_other *other, struct nc_other_facts *facts)
{
	NC_CLOSE int fd = open(facts->evidence, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t part = strcspn(other->build, "-"), length;
	const char *manifest, *revision;
	NC_JSON json_t *launch = NULL;
	NC_FREE char *text = NULL;
	struct nc_error ignored;

	if (fd < 0 || nc_folder_read(fd, NC_EVIDENCE_LAUNCH, NC_JSON_SIZE_MAX, &text, &length, &ignored) < 0 ||
	    nc_json_parse(text, length, NC_E_EVIDENCE_INVALID, &launch, &ignored) < 0)
		return;
	manifest = json_string_value(json_object_get(launch, "manifest"));
	revision = json_string_value(json_object_get(launch, "provider_revision"));
	if (manifest && revision && !strncmp(manifest, other->build, part))
		snprintf(facts->revision, sizeof(facts->revision), "%s", revision);
}

void nc_other_look(const struct nc_other *other, struct nc_other_facts *ret_facts)
{
	struct nc_instance_state state;
	struct nc_error ignored;
	NC_CLOSE int process = -1;

	*ret_facts = (struct nc_other_facts){0};
	if (!other->name[0] || nc_instance_state_read(other->folder, &state, &ignored) < 0)
		return;
	process = nc_process_open(&state.supervisor);
	if (process >= 0)
		ret_facts->supervisor = state.supervisor.pid;
	snprintf(ret_facts->evidence, sizeof(ret_facts->evidence), "%s", state.evidence);
	read_revision(other, ret_facts);
}

const char *nc_other_program(const struct nc_other *other, char ret_text[NC_OTHER_PROGRAM_MAX])
{
	struct nc_other_facts facts;

	nc_other_look(other, &facts);
	if (facts.supervisor)
		snprintf(ret_text, NC_OTHER_PROGRAM_MAX, "/proc/%d/exe, while its supervisor lives", (int)facts.supervisor);
	else if (!other->name[0])
		snprintf(ret_text, NC_OTHER_PROGRAM_MAX, "with one of its instances, which `netcordon status` lists");
	else if (other->owner_lives)
		snprintf(ret_text, NC_OTHER_PROGRAM_MAX, "/proc/PID/exe of its supervisor, whom `fuser %s/claim` names", other->folder);
	else
		snprintf(ret_text, NC_OTHER_PROGRAM_MAX, "to be installed again, since nobody supervises %s", other->name);
	return ret_text;
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

json_t *nc_other_json(const struct nc_other *other)
{
	struct nc_other_facts facts;

	nc_other_look(other, &facts);
	return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "instance", text_or_null(other->name), "build", other->build, "pins", other->pins,
			 "revision", text_or_null(facts.revision), "supervised", other->name[0] ? json_boolean(other->owner_lives) : json_null(),
			 "supervisor", facts.supervisor ? json_integer(facts.supervisor) : json_null(), "cgroup", text_or_null(other->cgroup));
}

struct search {
	const char *name;
	struct nc_other *ret_other;
	bool found;
};

static int match(void *context, const struct nc_other *row)
{
	struct search *search = context;

	if (strcmp(row->name, search->name))
		return 0;
	if (!search->found || row->owner_lives)
		*search->ret_other = *row;
	search->found = true;
	return row->owner_lives;
}

int nc_other_find(const struct nc_host_options *options, const char *instance, struct nc_other *ret_other, struct nc_error *reterr)
{
	struct search search = {.name = instance, .ret_other = ret_other};
	int r = nc_others(options, match, &search, reterr);

	return r < 0 ? r : search.found;
}

int nc_other_error(const struct nc_host_options *options, const char *instance, int r, struct nc_error *reterr)
{
	char program[NC_OTHER_PROGRAM_MAX];
	struct nc_error ignored;
	struct nc_other other;

	if (r >= 0 || (reterr->code != NC_E_INSTANCE_UNKNOWN && reterr->code != NC_E_HOST_DOWN) ||
	    nc_other_find(options, instance, &other, &ignored) <= 0)
		return r;
	nc_error_set(reterr, NC_E_INSTANCE_OF_OTHER_BUILD, r, "instance %s is of another build of netcordon, %s, which alone can speak to it",
		     instance, other.build);
	nc_error_hint(reterr, "its own build's program: %s", nc_other_program(&other, program));
	return r;
}
