/* SPDX-License-Identifier: GPL-2.0-only */
/* text.c - text that somebody else chose, made safe to show; and what a mistyped word was likely meant to be */
#include "text.h"

#include <string.h>

size_t nc_text_safe(const char *bytes, size_t length, char *ret_text, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		char piece[4] = {(char)byte};
		size_t piece_length = 1;

		if (byte == '\\') {
			piece[1] = '\\';
			piece_length = 2;
		} else if (byte < 0x20 || byte > 0x7e) {
			memcpy(piece, (char[]){'\\', 'x', hex[byte >> 4], hex[byte & 15]}, 4);
			piece_length = 4;
		}
		if (used + piece_length + 1 > size)
			break;
		memcpy(ret_text + used, piece, piece_length);
		used += piece_length;
	}
	if (size)
		ret_text[used] = '\0';
	return used;
}

static int least_of(int left, int right)
{
	return left < right ? left : right;
}

/* Slips between two words: a letter too many, one too few, another one, or two neighbours exchanged. */
static int distance(const char *left, const char *right)
{
	int slips[NC_NEAREST_WORD + 1][NC_NEAREST_WORD + 1]; /* between the beginnings of i and j letters */
	int lengths[2] = {(int)strlen(left), (int)strlen(right)};

	if (lengths[0] > NC_NEAREST_WORD || lengths[1] > NC_NEAREST_WORD)
		return NC_NEAREST_WORD;
	for (int i = 0; i <= lengths[0]; i++) {
		for (int j = 0; j <= lengths[1]; j++) {
			int best = i ? slips[i - 1][j] + 1 : j;

			if (i && j)
				best = least_of(best, least_of(slips[i][j - 1] + 1, slips[i - 1][j - 1] + (left[i - 1] != right[j - 1])));
			if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
				best = least_of(best, slips[i - 2][j - 2] + 1);
			slips[i][j] = best;
		}
	}
	return slips[lengths[0]][lengths[1]];
}

const char *nc_nearest(const char *typed, const char *const *words)
{
	const char *near = NULL;
	int least = 3;

	for (; *words; words++) {
		int steps = distance(typed, *words);

		/* Half of a word's letters may be slips; beyond that it is another word. */
		if (steps < least && steps * 2 <= (int)strlen(*words)) {
			least = steps;
			near = *words;
		}
	}
	return near;
}
