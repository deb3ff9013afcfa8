/* SPDX-License-Identifier: GPL-2.0-only */
/* test_oci.c - what a runtime hands to its hook: states good, bad and hostile, names of instances, and whose profiles are taken */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "oci.h"

#define HEAD "{\"ociVersion\":\"1.0.2\",\"id\":\"c1\",\"bundle\":\"/b\","
#define CREATING HEAD "\"pid\":4242,\"status\":\"creating\""

static int parse(const char *text, struct nc_oci_state *state, struct nc_error *error)
{
	return nc_oci_state_parse(text, strlen(text), state, error);
}

static void states_that_runtimes_write(void **unused)
{
	static const struct {
		const char *text;
		enum nc_oci_moment moment;
		pid_t pid;
		const char *profile;
	} rows[] = {
		{CREATING "}", NC_OCI_CREATE, 4242, NULL},
		{CREATING ",\"annotations\":null}", NC_OCI_CREATE, 4242, NULL},
		{CREATING ",\"annotations\":{}}", NC_OCI_CREATE, 4242, NULL},
		{CREATING ",\"annotations\":{\"a\":\"\\u00e9\",\"netcordon.profile\":\"web-1.2_x\"}}", NC_OCI_CREATE, 4242, "web-1.2_x"},
		/* members that nobody here knows are other people's business (OCI runtime specification, "Extensibility") */
		{CREATING ",\"root\":\"/r\",\"created\":\"2026-01-01T00:00:00Z\",\"owner\":\"\",\"netcordon.profile\":\"top\"}", NC_OCI_CREATE, 4242,
		 NULL},
		{HEAD "\"pid\":1,\"status\":\"created\"}", NC_OCI_CREATE, 1, NULL},
		{HEAD "\"pid\":0,\"status\":\"stopped\"}", NC_OCI_STOP, 0, NULL},
		{HEAD "\"status\":\"stopped\"}", NC_OCI_STOP, 0, NULL},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nc_oci_state state;
		struct nc_error error = {0};

		assert_int_equal(parse(rows[i].text, &state, &error), 0);
		assert_int_equal(state.moment, rows[i].moment);
		assert_int_equal(state.pid, rows[i].pid);
		assert_string_equal(state.id, "c1");
		assert_string_equal(state.bundle, "/b");
		if (rows[i].profile)
			assert_string_equal(state.profile, rows[i].profile);
		else
			assert_null(state.profile);
		nc_oci_state_free(&state);
	}
}

static void states_that_are_refused(void **unused)
{
	static const struct {
		const char *text, *pointer;
	} rows[] = {
		{"", NULL},
		{"[]", ""},
		{"{}", "/ociVersion"},
		{"{\"ociVersion\":\"2.0\",\"id\":\"c\",\"bundle\":\"/b\",\"pid\":1,\"status\":\"creating\"}", "/ociVersion"},
		{"{\"ociVersion\":1,\"id\":\"c\",\"bundle\":\"/b\",\"pid\":1,\"status\":\"creating\"}", "/ociVersion"},
		{"{\"ociVersion\":\"1.0\",\"id\":\"\",\"bundle\":\"/b\",\"pid\":1,\"status\":\"creating\"}", "/id"},
		{"{\"ociVersion\":\"1.0\",\"bundle\":\"/b\",\"pid\":1,\"status\":\"creating\"}", "/id"},
		{"{\"ociVersion\":\"1.0\",\"id\":\"c\",\"pid\":1,\"status\":\"creating\"}", "/bundle"},
		{HEAD "\"status\":\"creating\"}", "/pid"},
		{HEAD "\"pid\":0,\"status\":\"creating\"}", "/pid"},
		{HEAD "\"pid\":-1,\"status\":\"creating\"}", "/pid"},
		{HEAD "\"pid\":\"12\",\"status\":\"creating\"}", "/pid"},
		{HEAD "\"pid\":4294967297,\"status\":\"creating\"}", "/pid"},
		{HEAD "\"pid\":1}", "/status"},
		{HEAD "\"pid\":1,\"status\":\"Creating\"}", "/status"},
		{HEAD "\"pid\":1,\"status\":\"running\"}", "/status"},
		{CREATING ",\"annotations\":[]}", "/annotations"},
		/* a path, in whatever spelling, is not a name */
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"/etc/netcordon/profiles/web\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"../web\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"a/b\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"..\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\".web\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"-web\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"w\\u0435b\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"web\\n\"}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":{\"a\":\"web\"}}}", "/annotations/netcordon.profile"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\"}}",
		 "/annotations/netcordon.profile"},
		/* misspelt, it would leave the container with the operator's default and its author in the belief of something else */
		{CREATING ",\"annotations\":{\"Netcordon.Profile\":\"web\"}}", "/annotations/Netcordon.Profile"},
		{CREATING ",\"annotations\":{\"netcordon.profiles\":\"web\"}}", "/annotations/netcordon.profiles"},
		{CREATING ",\"annotations\":{\"netcordon.profile\":\"a\",\"netcordon.profile\":\"b\"}}", NULL},
		{CREATING ",\"annotations\":{\"x\":\"a\",\"x\":\"b\"}}", NULL},
		{CREATING ",\"annotations\":{\"netcordon.profile\\u0000x\":\"web\"}}", NULL},
		{CREATING "} {}", NULL},
		{CREATING, NULL},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nc_oci_state state = {.pid = 7};
		struct nc_error error = {0};

		assert_true(parse(rows[i].text, &state, &error) < 0);
		assert_int_equal(error.code, NC_E_OCI_STATE_INVALID);
		assert_int_equal(state.pid, 7); /* untouched */
		if (rows[i].pointer)
			assert_string_equal(error.pointer, rows[i].pointer);
	}
}

/* ---- reading ---------------------------------------------------------------------------------------------------------------------------------------- */

struct writer {
	int fd;
	const char *text;
	size_t length, piece;
	bool closes;
};

static void *write_slowly(void *argument)
{
	struct writer *writer = argument;

	for (size_t at = 0; at < writer->length;) {
		size_t piece = writer->length - at < writer->piece ? writer->length - at : writer->piece;
		ssize_t wrote = write(writer->fd, writer->text + at, piece);

		if (wrote < 0)
			break; /* the reader has seen enough */
		at += (size_t)wrote;
	}
	if (writer->closes)
		close(writer->fd);
	return NULL;
}

static int read_from(struct writer *writer, int timeout_ms, struct nc_oci_state *state, struct nc_error *error)
{
	pthread_t thread;
	int ends[2], r;

	assert_int_equal(pipe(ends), 0);
	writer->fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, write_slowly, writer), 0);
	r = nc_oci_state_read(ends[0], timeout_ms, state, error);
	close(ends[0]);
	pthread_join(thread, NULL);
	if (!writer->closes)
		close(ends[1]);
	return r;
}

/* A state of `size` bytes, by an annotation of somebody else's. */
static char *state_of(size_t size)
{
	static const char begin[] = CREATING ",\"annotations\":{\"other\":\"", end[] = "\"}}";
	char *text = malloc(size + 1);

	assert_non_null(text);
	memset(text, 'a', size);
	memcpy(text, begin, sizeof(begin) - 1);
	memcpy(text + size - sizeof(end) + 1, end, sizeof(end));
	return text;
}

static void slow_and_large(void **unused)
{
	char *large = state_of(1u << 20), *too_large = state_of(NC_OCI_STATE_MAX + 1);
	struct writer bytes = {.text = CREATING "}", .length = strlen(CREATING "}"), .piece = 1, .closes = true};
	struct writer endless = {.text = CREATING "}", .length = strlen(CREATING "}"), .piece = 100};
	struct writer big = {.text = large, .length = 1u << 20, .piece = 1 << 16, .closes = true};
	struct writer huge = {.text = too_large, .length = NC_OCI_STATE_MAX + 1, .piece = 1 << 16, .closes = true};
	struct nc_error error = {0};
	struct nc_oci_state state;

	(void)unused;
	assert_int_equal(read_from(&bytes, 30000, &state, &error), 0);
	assert_int_equal(state.pid, 4242);
	nc_oci_state_free(&state);
	assert_int_equal(read_from(&big, 30000, &state, &error), 0);
	nc_oci_state_free(&state);
	assert_true(read_from(&endless, 100, &state, &error) < 0);
	assert_int_equal(error.code, NC_E_DEADLINE);
	assert_true(read_from(&huge, 30000, &state, &error) < 0);
	assert_int_equal(error.code, NC_E_OCI_STATE_INVALID);
	free(large);
	free(too_large);
}

static void names_of_instances(void **unused)
{
	char name[NC_INSTANCE_NAME_MAX + 1], other[NC_INSTANCE_NAME_MAX + 1];
	char id[80];

	(void)unused;
	nc_oci_instance("web-1", name);
	assert_string_equal(name, "oci-web-1");
	/* an engine's: 64 digits, of which the name cannot hold all */
	memset(id, 'a', 64);
	id[64] = '\0';
	nc_oci_instance(id, name);
	assert_true(strlen(name) <= NC_INSTANCE_NAME_MAX);
	assert_memory_equal(name, "oci-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-", 45);
	id[63] = 'b';
	nc_oci_instance(id, other);
	assert_string_not_equal(name, other);
	/* what a name may not hold is neither dropped nor mixed up */
	nc_oci_instance("A/b", name);
	nc_oci_instance("A-b", other);
	assert_string_not_equal(name, other);
	assert_memory_equal(name, "oci---b-", 8);
}

/* ---- whose profiles are taken ---------------------------------------------------------------------------------------------------------------------- */

static int open_named(const char *folder, const char *name, struct nc_error *error)
{
	int fd = -1, r = nc_oci_profile_open(folder, name, &fd, error);

	if (fd >= 0)
		close(fd);
	return r;
}

static void write_at(const char *folder, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	close(fd);
}

static void refused_as(enum nc_error_code code, const char *folder, const char *name)
{
	struct nc_error error = {0};

	assert_true(open_named(folder, name, &error) < 0);
	assert_int_equal(error.code, code);
}

static void profiles_of_the_operator(void **unused)
{
	char folder[] = "/tmp/netcordon-oci-XXXXXX", path[256], link_path[256];
	struct nc_error error = {0};

	(void)unused;
	umask(022);
	assert_non_null(mkdtemp(folder));
	write_at(folder, "web.json");
	assert_int_equal(open_named(folder, "web", &error), 0);
	refused_as(NC_E_PROFILE_UNREADABLE, folder, "other");
	refused_as(NC_E_PROFILE_UNTRUSTED, folder, "../web");
	/* a symbolic link, even to a good file; a folder; a fifo */
	snprintf(path, sizeof(path), "%s/link.json", folder);
	assert_int_equal(symlink("web.json", path), 0);
	refused_as(NC_E_PROFILE_UNTRUSTED, folder, "link");
	unlink(path);
	snprintf(path, sizeof(path), "%s/dir.json", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	refused_as(NC_E_PROFILE_UNTRUSTED, folder, "dir");
	rmdir(path);
	snprintf(path, sizeof(path), "%s/fifo.json", folder);
	assert_int_equal(mkfifo(path, 0644), 0);
	refused_as(NC_E_PROFILE_UNTRUSTED, folder, "fifo");
	unlink(path);
	/* others can write the file, or the folder */
	snprintf(path, sizeof(path), "%s/web.json", folder);
	chmod(path, 0664);
	refused_as(NC_E_PROFILE_UNTRUSTED, folder, "web");
	chmod(path, 0644);
	chmod(folder, 0777);
	refused_as(NC_E_PROFILE_UNTRUSTED, folder, "web");
	chmod(folder, 0755);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		refused_as(NC_E_PROFILE_UNTRUSTED, folder, "web");
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(chown(folder, 65534, 65534), 0);
		refused_as(NC_E_PROFILE_UNTRUSTED, folder, "web");
		assert_int_equal(chown(folder, 0, 0), 0);
	}
	assert_int_equal(open_named(folder, "web", &error), 0);
	/* the folder itself may not be a link either */
	snprintf(link_path, sizeof(link_path), "%s-link", folder);
	assert_int_equal(symlink(folder, link_path), 0);
	refused_as(NC_E_PROFILE_UNREADABLE, link_path, "web");
	unlink(link_path);
	unlink(path);
	rmdir(folder);
}

/* The last look before a hook lets its container go. */
static void processes_that_ended_or_stand_elsewhere(void **state)
{
	struct nc_oci_container container = {.pid = getpid(), .pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0)};
	char cgroup[NC_PATH_MAX];
	struct nc_error error = {0};

	(void)state;
	assert_true(container.pidfd >= 0);
	assert_int_equal(nc_cgroup_of_process(getpid(), cgroup, &error), 0);
	assert_int_equal(nc_oci_still_there(&container, cgroup, &error), 0);
	assert_int_equal(nc_oci_still_there(&container, "/sys/fs/cgroup/another", &error), -EXDEV);
	assert_int_equal(error.code, NC_E_CGROUP_INVALID);
	close(container.pidfd);

	container.pid = fork();
	if (!container.pid) {
		pause();
		_exit(0);
	}
	container.pidfd = (int)syscall(SYS_pidfd_open, container.pid, 0);
	assert_int_equal(nc_oci_still_there(&container, cgroup, &error), 0);
	kill(container.pid, SIGKILL);
	assert_int_equal(waitpid(container.pid, NULL, 0), container.pid);
	assert_true(nc_oci_still_there(&container, cgroup, &error) < 0);
	close(container.pidfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_that_runtimes_write),
		cmocka_unit_test(states_that_are_refused),
		cmocka_unit_test(slow_and_large),
		cmocka_unit_test(names_of_instances),
		cmocka_unit_test(profiles_of_the_operator),
		cmocka_unit_test(processes_that_ended_or_stand_elsewhere),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
