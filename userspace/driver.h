/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * driver.h - a provider driver: the executable that puts a command behind somebody's enforcement (docs/drivers.md)
 *
 *   DRIVER VERB < request.json > answer.json       describe, prepare, exec, teardown
 *
 * What a driver may get wrong is a typed error of that one request: it hangs (DRIVER_DEADLINE), dies or is killed (DRIVER_CRASHED), answers something
 * else than the document says (DRIVER_GARBAGE), contradicts the operator (DRIVER_CONTRADICTION), or says that the provider cannot (DRIVER_REFUSED,
 * in an answer {"error": {"code", "detail"}}). It is killed with its process group when its time is over.
 */
#ifndef NC_DRIVER_H
#define NC_DRIVER_H

#include <jansson.h>
#include <stdbool.h>
#include "capability.h"
#include "error.h"

#define NC_DRIVER_VERSION 1
#define NC_DRIVER_ANSWER_MAX (1u << 20)
#define NC_DRIVER_DESCRIBE_MS 30000
#define NC_DRIVER_PREPARE_MS 60000 /* programs may have to be loaded, on a busy machine */
#define NC_DRIVER_TEARDOWN_MS 20000
#define NC_DRIVER_EXEC_SLACK_MS 5000 /* beyond the deadline that the request gives the command */

struct nc_driver {
	const char *path;
	int describe_ms, prepare_ms, teardown_ms, exec_slack_ms; /* the limits */
	char provider[NC_PROVIDER_MAX];
	char provider_revision[NC_REVISION_MAX];
	bool plane;	      /* it has a second authority */
	bool proxied;	      /* it is reached by proxy variables; what ignores them is expected to get nowhere */
	int offers;	      /* NC_CASE_CGROUPS, ...: what it can do beside the four verbs */
	const char *terminal; /* path of a terminal that it is started from; NULL: none */
	json_t *mutants;      /* words of checks that it can switch off; owned */
};

/* Asks `describe` and compares with the operator's pair; `path` is borrowed. limit_ms: at most so long for each verb, beside the
 * command of an exec; 0: the limits above. */
int nc_driver_open(const char *path, const char *provider, const char *provider_revision, const json_t *options, int limit_ms,
		   struct nc_driver *ret_driver, struct nc_error *reterr);
void nc_driver_close(struct nc_driver *driver);
/* Can it switch off every check in the space-separated list? */
bool nc_driver_switches(const struct nc_driver *driver, const char *words);

/* One request; the caller owns *ret_answer. `verb` is prepare, exec or teardown. */
int nc_driver_ask(const struct nc_driver *driver, const char *verb, const json_t *request, int deadline_ms, json_t **ret_answer,
		  struct nc_error *reterr);

/* What `prepare` answers. */
struct nc_driver_prepared {
	json_t *state;	    /* the driver's own, owned by the caller */
	char outside[512];  /* a cgroup in which processes of the host stand that are nobody's workload; "": this process's own */
	char unsealed[512]; /* a cgroup that was made for a workload and has no policy yet; "": none */
	char root[512];	    /* the cgroup below which everything of the run stands; "": not said */
	char pins[512];	    /* a folder of the BPF file system in which what enforces is pinned; "": none */
	char policy[512];   /* in there, the map of what the workload may reach */
};
/* `prepare`: the driver says again which pair it is (DRIVER_CONTRADICTION), and hands over its state. */
int nc_driver_prepare(const struct nc_driver *driver, const json_t *request, struct nc_driver_prepared *ret_prepared, struct nc_error *reterr);

/* What `exec` answers. */
struct nc_driver_output {
	char *text; /* what the command wrote to its output, NUL-terminated; owned */
	int exited; /* its exit status, or -1 */
};
int nc_driver_exec(const struct nc_driver *driver, const json_t *request, int command_ms, struct nc_driver_output *ret_output,
		   struct nc_error *reterr);

/* Becomes the leader of a session whose terminal is `path`. For `before` below. 0 or negative errno. */
int nc_spawn_at_terminal(void *path);
/* Runs argv with `input` on its standard input and reads its output, both bounded, until it ends or the deadline. The exit status in wait(2)'s form.
 * -ETIMEDOUT: killed with its group. -EFBIG: too much output, likewise. The caller frees *ret_output. */
int nc_spawn_bounded(char *const *argv, const char *input, size_t input_length, int deadline_ms, int *ret_status, char **ret_output,
		     size_t *ret_length, int (*before)(void *context), void *context);

#endif
