/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_stage.h - one run of one case, set up: destinations, listeners, names, the profile and the command
 *
 * Everything on a stage is made for this one run: addresses, ports, names, tokens and answers are random, so that a provider cannot know which run it
 * is in, and what is seen of an address later can belong to no other run.
 */
#ifndef NC_CONFORM_STAGE_H
#define NC_CONFORM_STAGE_H

#include <jansson.h>
#include "host.h"
#include "conform_case.h"
#include "observe.h"
#include "outcome.h"
#include "world.h"

#define NC_CREDENTIAL_NAME "NC_PLANE_CREDENTIAL"

/* A destination with a live listener. */
struct nc_spot {
	enum nc_site site;
	union nc_address address;
	uint16_t port;
	uint8_t protocol;
	char literal[64];	    /* the address as text */
	char host[256];		    /* what a client and a profile call it: a name, or the literal */
	char answer[NC_TOKEN_SIZE]; /* what its listener says */
};

/* What outlives a run. */
struct nc_theatre {
	struct nc_world *world;
	struct nc_observer *observer;
	union nc_address resolver;
	char resolver_text[64];
	const char *client;	/* path of the hostile client */
	bool proxied;		/* the provider is reached by proxy variables */
	const char *scratch;	/* folder of the run of the matrix */
	bool listeners_off;	/* for the test of the matrix itself: nothing listens at the target */
	union nc_address *used; /* every address ever handed out */
	size_t used_count;
};

struct nc_stage {
	const struct nc_case *row;
	enum nc_run_kind kind;
	struct nc_spot twin, listed, target;
	char nat64[72];	  /* the network's own NAT64 prefix, which the driver is told of; "": none */
	const char *wire; /* how the profile wants the target's name compared; NULL: any */
	bool has_twin;
	char token[NC_TOKEN_SIZE], twin_token[NC_TOKEN_SIZE];
	char credential[NC_TOKEN_SIZE];		   /* the plane's */
	const char *authority;			   /* who attempts */
	bool updated;				   /* the policy after its update is meant */
	json_t *profile;			   /* owned */
	json_t *command, *twin_command;		   /* owned; NULL without */
	size_t begun;				   /* where the log stood */
	size_t since;				   /* from where on what is seen at the target counts */
	char folder[96];			   /* where the client and the matrix's actor meet (conform_actor.h); "": nowhere */
	char terminal[32];			   /* that the provider is started from; "": none */
	char door[104], go[104];		   /* in there: a unix socket, and a file for which the client waits */
	char pins[104], outside[112], policy[108]; /* there as well: what the driver points out */
	char own[64];				   /* the workload's address on its link */
	/* Written by the actor, read when it is done: */
	bool permitted;		 /* the target was reached while it was listed */
	char child[512];	 /* a cgroup that it made */
	struct nc_error failure; /* what it could not do */
};

int nc_stage_set(struct nc_theatre *theatre, const struct nc_case *row, enum nc_run_kind kind, struct nc_stage *ret_stage, struct nc_error *reterr);
/* conform_profile.c: what a Runner would hand over, owned by the caller; is the attempt the plane's? */
json_t *nc_stage_profile(const struct nc_stage *stage);
bool nc_stage_by_plane(const struct nc_case *row);
/* The stage's profile as an update takes the target from the list; the caller owns it. */
json_t *nc_stage_profile_without_target(const struct nc_stage *stage);
void nc_stage_strike(struct nc_stage *stage);

/* The path by which a process outside reaches a namespace of the world. */
void nc_netns_path(const struct nc_theatre *theatre, enum nc_site site, char path[64]);
/* conform_address.c: a random address that this theatre never handed out. `class` is NULL for a public one, else a word of the cases' variants. */
int nc_pick_address(struct nc_theatre *theatre, int family, const char *class, union nc_address *ret_address, struct nc_error *reterr);
uint16_t nc_pick_port(void);
void nc_pick_token(char token[NC_TOKEN_SIZE]);
void nc_pick_name(char *ret_name, size_t size);
/* conform_client.c: the command line for `client` (a case's column) and what its output says. */
json_t *nc_client_command(const struct nc_theatre *theatre, const char *client, const struct nc_stage *stage, const struct nc_spot *to,
			  const char *token, int wait_ms);
/* One command that makes the first attempt, says so with a line of its own, and then makes the second. Takes both references. */
#define NC_CLIENT_MARK_LINE "-- the attempt --"
#define NC_CLIENT_MARK "\n" NC_CLIENT_MARK_LINE "\n"
json_t *nc_client_both(json_t *first, json_t *second);
/* Fills reported, impossible, answered and how. */
void nc_client_read(const char *output, const char *answer, struct nc_run *run);

#endif
