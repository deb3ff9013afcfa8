/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * revision.h - which build this is
 *
 * A revision is bound to bits: the table in revision.c holds, for each released revision, the manifest digest that the Makefile computed over the BPF
 * object, the address table and the closure table. A build whose manifest is not in the table calls itself dev and can hold no receipt.
 */
#ifndef NC_REVISION_H
#define NC_REVISION_H

#define NC_VERSION "0.1"

const char *nc_revision_manifest(void); /* 64 hexadecimal digits */
const char *nc_revision_name(void);	/* a released revision, or "dev" */

#endif
