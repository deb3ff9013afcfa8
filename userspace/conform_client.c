/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conform_client.c - the clients of the matrix: curl, which behaves, and the hostile one, which does not
 *
 * A client's last words are machine-readable: curl's are written by its own --write-out, the hostile client ends with a line of JSON. Without them
 * nobody tried anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cleanup.h"
#include "conform_actor.h"
#include "conform_stage.h"

#define CURL_WORDS "\n{\"client\":\"curl\",\"exit\":%{exitcode},\"http\":%{http_code},\"proxy\":%{http_connect}}\n"

static json_t *curl(const struct nc_spot *to, const char *token, int wait_ms, bool follow)
{
	char url[512], seconds[16];
	bool bracket = strchr(to->host, ':');
	json_t *command;

	snprintf(url, sizeof(url), "http://%s%s%s:%u/%s", bracket ? "[" : "", to->host, bracket ? "]" : "", to->port, token);
	snprintf(seconds, sizeof(seconds), "%d.%d", wait_ms / 1000, wait_ms % 1000 / 100);
	command = json_pack("[s,s,s,s,s,s,s,s]", "curl", "-sS", "-p", "-g", "-m", seconds, "-w", CURL_WORDS);
	if (follow)
		json_array_append_new(command, json_string("-L"));
	json_array_append_new(command, json_string(url));
	return command;
}

/* The same command line twice, by two processes: nothing that the first one learned helps the second, and
 * an answer that was given for a second is forgotten. */
static json_t *twice(json_t *once)
{
	json_t *command = json_pack("[s,s,s,s]", "sh", "-c", "\"$@\"; sleep 2; \"$@\"", "sh");

	json_array_extend(command, once);
	json_decref(once);
	return command;
}

/* Both names are asked for, so that each has what it can have; then one is dialled and the other shown. */
static json_t *showing(const struct nc_stage *stage, json_t *once)
{
	json_t *command = json_pack("[s,s,s,s]", "sh", "-c", "getent ahosts \"$0\" >/dev/null; exec \"$@\"", stage->listed.host);

	json_array_extend(command, once);
	json_decref(once);
	json_array_append_new(command, json_string("-H"));
	json_array_append_new(command, json_sprintf("Host: %s", stage->listed.host));
	return command;
}

/* The credential comes from the environment, where the provider puts it for the plane alone. */
static json_t *with_credential(json_t *once)
{
	json_t *command = json_pack("[s,s,s,s]", "sh", "-c", "\"$@\" -H \"Authorization: Bearer $" NC_CREDENTIAL_NAME "\"", "sh");

	json_array_extend(command, once);
	json_decref(once);
	return command;
}

/* %t %p: the target. %l %o: the listed destination of the construction. %w %q: the twin. %a: the workload's own address. %n: the target's name. %d %g: the
 * door and its file. %b %c %e: pins, a cgroup outside, the policy's map. %f: what was left open. %i: the workload's device. %v %m: its family, any address. */
static const char *placeholder(const struct nc_theatre *theatre, char letter, const struct nc_stage *stage, const struct nc_spot *to, char port[8])
{
	const struct nc_spot *spot = letter == 't' || letter == 'p' ? to : letter == 'l' || letter == 'o' ? &stage->listed : &stage->twin;

	switch (letter) {
	case 'd':
		return stage->door;
	case 'g':
		return stage->go;
	case 'a':
		return stage->own;
	case 'b':
		return stage->pins;
	case 'c':
		return stage->outside;
	case 'e':
		return stage->policy;
	case 'i':
		return nc_world_place_device(theatre->world, NC_SITE_WORKLOAD);
	case 'n':
		return to->host;
	case 'v':
		return stage->row->family == 4 ? "v4" : "v6";
	case 'm': /* any address of its own */
		return stage->row->family == 4 ? "0.0.0.0" : "::";
	}
	snprintf(port, 8, "%u", letter == 'f' ? NC_INHERITED_FD : spot->port);
	return strchr("pqof", letter) ? port : spot->literal;
}

static json_t *attempt(const struct nc_theatre *theatre, const char *words, const struct nc_stage *stage, const struct nc_spot *to, const char *token,
		       int wait_ms)
{
	char wait[16], payload[NC_TOKEN_SIZE + 1], port[8];
	NC_FREE char *copy = strdup(words);
	char *state = NULL;
	json_t *command;

	snprintf(wait, sizeof(wait), "%d", wait_ms);
	snprintf(payload, sizeof(payload), "%s\n", token);
	command = json_pack("[s,s,s,s,s]", theatre->client, "-t", wait, "-p", payload);
	for (char *word = copy ? strtok_r(copy, " ", &state) : NULL; word; word = strtok_r(NULL, " ", &state))
		json_array_append_new(command,
				      json_string(*word == '%' && word[1] && !word[2] ? placeholder(theatre, word[1], stage, to, port) : word));
	return command;
}

/* The name is asked for and nobody is dialled; then the attempt, by address. */
static json_t *resolved(const struct nc_spot *to, json_t *command)
{
	json_t *whole = json_pack("[s,s,s,s]", "sh", "-c", "getent ahosts \"$0\" >/dev/null; exec \"$@\"", to->host);

	json_array_extend(whole, command);
	json_decref(command);
	return whole;
}

static void quote(const char *word, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);

	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
	fclose(out);
}

static void write_words(FILE *script, const json_t *command)
{
	const json_t *word;
	size_t i;

	json_array_foreach(command, i, word)
	{
		NC_FREE char *quoted = NULL;
		size_t size;

		quote(json_string_value(word), &quoted, &size);
		fprintf(script, "%s%s", i ? " " : "", quoted);
	}
}

json_t *nc_client_both(json_t *first, json_t *second)
{
	NC_FREE char *text = NULL;
	size_t size;
	FILE *script = open_memstream(&text, &size);
	json_t *command;

	write_words(script, first);
	fputs("; printf '%s\\n' '' '" NC_CLIENT_MARK_LINE "'; exec ", script);
	write_words(script, second);
	fclose(script);
	json_decref(first);
	json_decref(second);
	command = json_pack("[s,s,s]", "sh", "-c", text);
	return command;
}

json_t *nc_client_command(const struct nc_theatre *theatre, const char *client, const struct nc_stage *stage, const struct nc_spot *to,
			  const char *token, int wait_ms)
{
	if (!strncmp(client, "attempt ", 8))
		return attempt(theatre, client + 8, stage, to, token, wait_ms);
	if (!strncmp(client, "resolved attempt ", 17))
		return resolved(to, attempt(theatre, client + 17, stage, to, token, wait_ms));
	if (!strcmp(client, "follow"))
		return curl(&stage->listed, token, wait_ms, true);
	if (!strcmp(client, "show"))
		return showing(stage, curl(to, token, wait_ms, false));
	if (!strcmp(client, "curl-twice"))
		return twice(curl(to, token, wait_ms, false));
	if (!strcmp(client, "credential"))
		return with_credential(curl(to, token, wait_ms, false));
	return curl(to, token, wait_ms, false);
}

/* The value of "name": in a line of JSON that we know the shape of, without its quotation marks. */
static void value_of(const char *line, const char *name, char *ret_value, size_t size)
{
	const char *at = strstr(line, name);
	size_t length;

	*ret_value = '\0';
	if (!at)
		return;
	at += strlen(name);
	at += *at == '"';
	length = strcspn(at, "\",}\n");
	snprintf(ret_value, size, "%.*s", (int)length, at);
}

static const char *last_line(const char *output, const char *beginning)
{
	const char *found = NULL;

	for (const char *at = output; (at = strstr(at, beginning)); at++)
		found = at;
	return found;
}

void nc_client_read(const char *output, const char *answer, struct nc_run *run)
{
	const char *curl_line = last_line(output, "{\"client\":\"curl\""), *attempt_line = last_line(output, "{\"verb\":");
	char first[40], second[24];

	run->answered = strstr(output, answer);
	if (attempt_line) {
		run->reported = true;
		run->through = strstr(attempt_line, "\"outcome\":\"through\"");
		run->impossible = strstr(attempt_line, "\"outcome\":\"impossible\"");
		value_of(attempt_line, "\"call\":", first, sizeof(first));
		value_of(attempt_line, "\"errno\":", second, sizeof(second));
		snprintf(run->how, sizeof(run->how), "%s %s", first, second);
	} else if (curl_line) {
		run->reported = true;
		value_of(curl_line, "\"exit\":", first, sizeof(first));
		value_of(curl_line, "\"proxy\":", second, sizeof(second));
		snprintf(run->how, sizeof(run->how), "curl %s, proxy %s", first, second);
	} else {
		snprintf(run->how, sizeof(run->how), "no report");
	}
}
