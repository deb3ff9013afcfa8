/* SPDX-License-Identifier: GPL-2.0-only */
/* program_digests.h - what the programs in force are, as digests (program_digests.c) */
#ifndef NC_PROGRAM_DIGESTS_H
#define NC_PROGRAM_DIGESTS_H

#include <jansson.h>
#include "error.h"
#include "loader.h"

/* {"object", "rodata", "effective": [{hook, name, id, ours, tag, xlated}]}; the caller owns *ret_programs. `runtime` is where digests that cannot change are
 * kept between launches; `manifest` names the build. */
int nc_program_digests(struct nc_host *host, const struct nc_effective_list *effective, const char *runtime, const char *manifest,
		       json_t **ret_programs, struct nc_error *reterr);

#endif
