/* SPDX-License-Identifier: GPL-2.0-only */
/* test_json_memory.c - a document for a part of which there was no memory is not written, though nobody looked at the setting of that part */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <cmocka.h>
#include "json.h"

/* The sanitizer's allocator is to answer as the C library's does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static int write_out(const json_t *document)
{
	struct nc_error error = {0};
	char *text = NULL;
	size_t length;
	int r = nc_json_canonical(document, &text, &length, &error);

	assert_int_equal(error.status, r);
	free(text);
	return r;
}

/* More than any machine has, and nothing of it is read. */
static json_t *too_large(void)
{
	return json_stringn_nocheck("", SIZE_MAX / 4);
}

static void *elsewhere(void *document)
{
	return (void *)(intptr_t)write_out(document);
}

static void refuses(void **state)
{
	NC_JSON json_t *document = json_object(), *read = NULL;
	struct nc_error error = {0};
	void *other;
	pthread_t thread;

	(void)state;
	nc_json_watch_memory();
	assert_int_equal(json_object_set_new(document, "here", json_true()), 0);
	assert_int_equal(write_out(document), 0);
	(void)!json_object_set_new(document, "not here", too_large());
	assert_null(json_object_get(document, "not here"));
	assert_int_equal(write_out(document), -ENOMEM);
	assert_int_equal(write_out(document), -ENOMEM);
	assert_int_equal(nc_json_parse("{}", 2, NC_E_PROFILE_INVALID, &read, &error), -ENOMEM);
	assert_int_equal(error.code, NC_E_SYSTEM);
	/* another thread has lost nothing */
	assert_int_equal(pthread_create(&thread, NULL, elsewhere, document), 0);
	assert_int_equal(pthread_join(thread, &other), 0);
	assert_null(other);
	nc_json_forget_memory();
	assert_int_equal(write_out(document), 0);
	assert_int_equal(nc_json_parse("{}", 2, NC_E_PROFILE_INVALID, &read, &error), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(refuses)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
