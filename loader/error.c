// SPDX-License-Identifier: GPL-2.0-only
/*
 * error.c - filling an error, and the table's words about it
 */
#include <stdarg.h>
#include <string.h>
#include "error.h"
#include "cleanup.h"

#define NC_ERROR_WORD(symbol, word, exit_status, meaning) [NC_E_##symbol] = {word, meaning, exit_status},
static const struct {
	const char *word;
	const char *meaning;
	int exit_status;
} errors[NC_E_COUNT] = {[NC_E_NONE] = {"none", "no error", 0}, NC_ERRORS(NC_ERROR_WORD)};

__attribute__((format(printf, 4, 0))) static int error_fill(struct nc_error *reterr, enum nc_error_code code, int status, const char *format,
							    va_list arguments)
{
	reterr->code = code;
	reterr->status = status < 0 ? status : 0;
	reterr->pointer[0] = '\0';
	reterr->hint[0] = '\0';
	if (vsnprintf(reterr->detail, sizeof(reterr->detail), format, arguments) < 0)
		reterr->detail[0] = '\0';
	return status < 0 ? status : -EINVAL;
}

int nc_error_set(struct nc_error *reterr, enum nc_error_code code, int status, const char *format, ...)
{
	va_list arguments;
	int result;

	va_start(arguments, format);
	result = error_fill(reterr, code, status, format, arguments);
	va_end(arguments);
	return result;
}

int nc_error_sys(struct nc_error *reterr, enum nc_error_code code, int status, const char *format, ...)
{
	va_list arguments;
	size_t length;
	int result;

	va_start(arguments, format);
	result = error_fill(reterr, code, status, format, arguments);
	va_end(arguments);
	length = strlen(reterr->detail);
	snprintf(reterr->detail + length, sizeof(reterr->detail) - length, ": %s", strerror(-result));
	return result;
}

int nc_error_hint(struct nc_error *reterr, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (vsnprintf(reterr->hint, sizeof(reterr->hint), format, arguments) < 0)
		reterr->hint[0] = '\0';
	va_end(arguments);
	return reterr->status < 0 ? reterr->status : -EINVAL;
}

void nc_error_add(struct nc_error *reterr, const char *text)
{
	size_t length = strlen(reterr->detail);

	snprintf(reterr->detail + length, sizeof(reterr->detail) - length, "; %s", text);
}

bool nc_error_is_memory(const struct nc_error *error)
{
	return error->code == NC_E_SYSTEM && error->status == -ENOMEM;
}

static enum nc_error_code known(enum nc_error_code code)
{
	return (unsigned int)code < NC_E_COUNT ? code : NC_E_SYSTEM;
}

const char *nc_error_word(enum nc_error_code code)
{
	return errors[known(code)].word;
}

const char *nc_error_meaning(enum nc_error_code code)
{
	return errors[known(code)].meaning;
}

int nc_error_exit(enum nc_error_code code)
{
	return errors[known(code)].exit_status;
}
