// SPDX-License-Identifier: GPL-2.0-only
/* output.c - errors, JSON and tables, as output.h describes them */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "cleanup.h"
#include "commands.h"
#include "json.h"
#include "output.h"

void nc_output_safe(FILE *stream, const char *text)
{
	for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
		if (*byte < 0x20 || *byte > 0x7e)
			fprintf(stream, "\\x%02x", *byte);
		else
			fputc(*byte, stream);
	}
}

/* jansson refuses invalid UTF-8, and a detail may quote a file's name or an argument: such bytes are shown as \xHH, like on the terminal. */
static json_t *safe_string(const char *text)
{
	NC_FREE char *safe = NULL;
	json_t *value = json_string(text);
	size_t size;
	FILE *stream;

	if (value)
		return value;
	stream = open_memstream(&safe, &size);
	if (!stream)
		return json_string("");
	nc_output_safe(stream, text);
	fclose(stream);
	return json_string(safe ? safe : "");
}

/* CODE: DETAIL (HINT) */
static void put_error(FILE *stream, const struct nc_error *error)
{
	fprintf(stream, "%s: ", nc_error_word(error->code));
	if (error->pointer[0]) {
		nc_output_safe(stream, error->pointer);
		fputs(": ", stream);
	}
	nc_output_safe(stream, error->detail);
	if (error->hint[0]) {
		fputs(" (", stream);
		nc_output_safe(stream, error->hint);
		fputc(')', stream);
	}
}

void nc_output_log(const struct nc_error *error, const char *subject)
{
	NC_FREE char *line = NULL;
	size_t size;
	FILE *stream = open_memstream(&line, &size);

	if (!stream)
		return;
	nc_output_safe(stream, subject);
	fputs(subject[0] ? ": " : "", stream);
	put_error(stream, error);
	fclose(stream);
	openlog("netcordon", LOG_PID, LOG_DAEMON);
	syslog(LOG_ERR, "%s", line ?: nc_error_word(error->code));
}

void nc_output_error(const struct nc_error *error, bool json)
{
	json_t *document;
	char *text;

	if (!json) {
		fputs("netcordon: ", stderr);
		put_error(stderr, error);
		fputc('\n', stderr);
		return;
	}
	document = json_object();
	json_object_set_new(document, "version", json_integer(1));
	json_object_set_new(document, "code", json_string(nc_error_word(error->code)));
	json_object_set_new(document, "detail", safe_string(error->detail));
	json_object_set_new(document, "pointer", safe_string(error->pointer));
	json_object_set_new(document, "hint", safe_string(error->hint));
	text = json_dumps(document, JSON_ENSURE_ASCII);
	fprintf(stderr, "%s\n", text ? text : "{\"version\":1,\"code\":\"system\",\"detail\":\"out of memory\",\"pointer\":\"\",\"hint\":\"\"}");
	free(text);
	json_decref(document);
}

void nc_output_json(const json_t *document)
{
	struct nc_error error = {0};

	if (nc_json_check_memory(&error) < 0) {
		nc_output_error(&error, true);
		exit(NC_EXIT_FAILED); /* half a document would be taken for a whole one, and a status of success goes with it */
	}
	json_dumpf(document, stdout, JSON_ENSURE_ASCII | JSON_INDENT(2));
	fputc('\n', stdout);
}

struct nc_table {
	int columns;
	size_t rows, room;
	char **cells;
	bool failed;
};

struct nc_table *nc_table_new(int columns)
{
	struct nc_table *table = calloc(1, sizeof(*table));

	if (table)
		table->columns = columns;
	return table;
}

static bool grow(struct nc_table *table)
{
	size_t room = table->room ? table->room * 2 : 16;
	char **cells;

	if (table->rows < table->room)
		return true;
	cells = reallocarray(table->cells, room * (size_t)table->columns, sizeof(*cells));
	if (!cells)
		return false;
	memset(cells + table->room * (size_t)table->columns, 0, (room - table->room) * (size_t)table->columns * sizeof(*cells));
	table->cells = cells;
	table->room = room;
	return true;
}

void nc_table_row(struct nc_table *table, ...)
{
	va_list cells;

	if (!table || table->failed)
		return;
	if (!grow(table)) {
		table->failed = true;
		return;
	}
	va_start(cells, table);
	for (int column = 0; column < table->columns; column++) {
		char *cell = strdup(va_arg(cells, const char *));

		table->cells[table->rows * (size_t)table->columns + (size_t)column] = cell;
		table->failed |= !cell;
	}
	va_end(cells);
	table->rows++;
}

static int column_width(const struct nc_table *table, int column)
{
	int widest = 0;

	for (size_t row = 0; row < table->rows; row++) {
		int width = (int)strlen(table->cells[row * (size_t)table->columns + (size_t)column]);

		widest = width > widest ? width : widest;
	}
	return widest;
}

static void print_rows(const struct nc_table *table, FILE *stream, const int *widths)
{
	for (size_t row = 0; row < table->rows; row++) {
		char *const *cells = table->cells + row * (size_t)table->columns;
		int last = table->columns - 1;

		while (last > 0 && !cells[last][0])
			last--;
		for (int column = 0; column < last; column++)
			fprintf(stream, "%-*s  ", widths[column], cells[column]);
		fprintf(stream, "%s\n", cells[last]);
	}
}

int nc_table_print(const struct nc_table *table, FILE *stream, struct nc_error *reterr)
{
	NC_FREE int *widths = table && !table->failed ? calloc((size_t)table->columns, sizeof(*widths)) : NULL;

	if (!widths)
		return nc_error_sys(reterr, NC_E_SYSTEM, -ENOMEM, "print a table");
	for (int column = 0; column < table->columns; column++)
		widths[column] = column_width(table, column);
	print_rows(table, stream, widths);
	return 0;
}

void nc_table_free(struct nc_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->rows * (size_t)table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}
