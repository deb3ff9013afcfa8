/* SPDX-License-Identifier: GPL-2.0-only */
/* text.c - text that somebody else chose, made safe to show */
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
