/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * status.c - the lines that a Runner reads from --status-fd
 *
 * One JSON object a line, canonical, each with "version" and "event": sealed, started, exited, failed. The last one is exactly one `exited` or `failed`. A line
 * is written by one write of less than PIPE_BUF bytes, so that it cannot be torn or mixed with another.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cleanup.h"
#include "launch_state.h"
#include "text.h"

/* Takes `line`. */
static int tell(struct nc_launch *launch, json_t *line, struct nc_error *reterr)
{
	NC_JSON json_t *owned = line;
	NC_FREE char *text = NULL;
	size_t length;
	int r;

	if (launch->options->status_fd < 0)
		return 0;
	if (!owned || json_object_set_new(owned, "version", json_integer(NC_MESSAGE_VERSION)) < 0)
		return nc_error_set(reterr, NC_E_SYSTEM, -ENOMEM, "no memory for a status line");
	r = nc_json_canonical(owned, &text, &length, reterr);
	if (r < 0)
		return r;
	text[length] = '\n'; /* where its NUL stood */
	if (write(launch->options->status_fd, text, length + 1) != (ssize_t)length + 1)
		return nc_error_sys(reterr, NC_E_SYSTEM, errno ? -errno : -EIO, "write to the status descriptor %d", launch->options->status_fd);
	return 0;
}

static json_t *digest_json(const struct nc_digest *digest)
{
	char hex[NC_DIGEST_HEX];

	nc_digest_hex(digest, hex);
	return json_string(hex);
}

static json_t *image_json(const struct nc_image *image)
{
	struct nc_digest digest;

	nc_image_digest(image, &digest);
	return digest_json(&digest);
}

int nc_status_sealed(struct nc_launch *launch, struct nc_error *reterr)
{
	json_t *line;
	int r;

	if (launch->options->status_fd < 0) {
		launch->sealed_told = !launch->options->container; /* its hook is told when all is done */
		return 0;
	}
	line = json_pack("{s:s, s:s, s:o, s:s, s:o, s:{s:o, s:o}, s:o, s:s}", "event", "sealed", "instance", launch->instance, "generation",
			 nc_launch_generation_json(launch), "cgroup", nc_claim_cgroup_path(launch->claim, NC_AUTHORITY_WORKLOAD), "profile_digest",
			 digest_json(&launch->profile->digest), "image_digests", "workload", image_json(&launch->images[0]), "plane",
			 image_json(&launch->images[1]), "launch_digest", digest_json(nc_evidence_launch_digest(launch->evidence)), "evidence",
			 launch->evidence_folder);
	r = tell(launch, line, reterr);
	launch->sealed_told = r == 0;
	return r;
}

int nc_status_started(struct nc_launch *launch, struct nc_error *reterr)
{
	return tell(launch, json_pack("{s:s, s:s, s:i}", "event", "started", "instance", launch->instance, "pid", (int)launch->command_pid), reterr);
}

int nc_status_exited(struct nc_launch *launch, struct nc_error *reterr)
{
	const struct nc_ending *ending = &launch->ending;
	json_t *line;

	if (launch->provider == NC_PROVIDER_OCI)
		return 0; /* the hook that listened has returned to its runtime long ago */
	line = json_pack("{s:s, s:s, s:s}", "event", "exited", "instance", launch->instance, "cause", ending->cause);

	if (line && ending->known && WIFEXITED(ending->wait_status))
		json_object_set_new(line, "code", json_integer(WEXITSTATUS(ending->wait_status)));
	if (line && ending->known && WIFSIGNALED(ending->wait_status))
		json_object_set_new(line, "signal", json_integer(WTERMSIG(ending->wait_status)));
	return tell(launch, line, reterr);
}

void nc_status_failed(struct nc_launch *launch, const struct nc_error *error)
{
	struct nc_error ignored; /* the Runner that should read this is gone; the caller has the error itself */
	char detail[NC_TEXT_SAFE_SIZE(sizeof(error->detail))];
	json_t *line;

	nc_text_safe(error->detail, strlen(error->detail), detail, sizeof(detail));
	line = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "event", "failed", "phase", launch->phase, "code", nc_error_word(error->code),
			 "detail", detail, "pointer", error->pointer, "hint", error->hint, "started", launch->started);
	if (line && launch->instance[0])
		json_object_set_new(line, "instance", json_string(launch->instance));
	tell(launch, line, &ignored);
}
