/* SPDX-License-Identifier: GPL-2.0-only */
/* grade.c - words and order of the grades, words of the facts */
#include <string.h>
#include "grade.h"

#define GRADE_WORD(symbol, word, meaning) [NC_GRADE_##symbol] = word,
static const char *const grade_words[] = {NC_GRADES(GRADE_WORD)};
#define GRADE_COUNT (sizeof(grade_words) / sizeof(*grade_words))

#define FACT_ROW(symbol, word, meaning) [NC_FACT_##symbol] = {word, meaning},
static const struct {
	const char *word, *meaning;
} facts[] = {NC_FACTS(FACT_ROW)};

const char *nc_grade_word(enum nc_grade grade)
{
	return (size_t)grade < GRADE_COUNT ? grade_words[grade] : NULL;
}

bool nc_grade_parse(const char *word, enum nc_grade *ret_grade)
{
	for (size_t i = 0; i < GRADE_COUNT; i++) {
		if (grade_words[i] && !strcmp(grade_words[i], word)) {
			*ret_grade = (enum nc_grade)i;
			return true;
		}
	}
	return false;
}

bool nc_grade_meets(enum nc_grade advertised, enum nc_grade required)
{
	return nc_grade_word(advertised) && nc_grade_word(required) && advertised >= required;
}

const char *nc_fact_word(enum nc_fact fact)
{
	return (size_t)fact < NC_FACT_COUNT ? facts[fact].word : NULL;
}

const char *nc_fact_meaning(enum nc_fact fact)
{
	return (size_t)fact < NC_FACT_COUNT ? facts[fact].meaning : NULL;
}

bool nc_fact_parse(const char *word, enum nc_fact *ret_fact)
{
	for (size_t i = 0; i < NC_FACT_COUNT; i++) {
		if (!strcmp(facts[i].word, word)) {
			*ret_fact = (enum nc_fact)i;
			return true;
		}
	}
	return false;
}
