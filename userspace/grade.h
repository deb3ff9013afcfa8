/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grade.h - the three grades, a total order, and the five facts that the highest one must prove together
 *
 * A grade is a statement about one exact pair of provider and provider revision. Grades are compared and never computed with: nothing here
 * makes one grade out of another. The enum itself stands in profile.h, because a profile may require one.
 */
#ifndef NC_GRADE_H
#define NC_GRADE_H

#include <stdbool.h>
#include "profile.h"

/* Lowest first. The second column is the word in every document. */
#define NC_GRADES(X)                                                                                                                                 \
	X(UNSUPPORTED, "unsupported", "nothing is said about egress")                                                                                \
	X(ADVISORY_FILTER, "advisory_filter", "a filter is there, and how it holds against a hostile workload is not proven")                        \
	X(SECURITY_BOUNDARY, "security_boundary", "all five facts were proven by a matrix that the release authority ran")

#define NC_FACTS(X)                                                                                                                                  \
	X(EXACT_DESTINATION_MATCH, "exact_destination_match",                                                                                        \
	  "a listed host and port is reached, and every other host, port or protocol is refused")                                                    \
	X(REDIRECT_RECHECK, "redirect_recheck", "what a permitted destination redirects to is judged anew, as a destination of its own")             \
	X(CONNECT_TIME_PUBLIC_ADDRESS, "connect_time_public_address",                                                                                \
	  "every address, on every connection, was public at the moment of connecting, whatever its name resolved to earlier")                       \
	X(AUTHORITY_SEPARATION, "authority_separation",                                                                                              \
	  "the workload's edge holds no plane credential, and workload and plane traffic ride separate sealed authorities")                          \
	X(DEFAULT_DENY, "default_deny", "when any other fact is absent, nothing gets out")

#define NC_ENUM_FACT(symbol, ...) NC_FACT_##symbol,
enum nc_fact { NC_FACTS(NC_ENUM_FACT) NC_FACT_COUNT };

/* NULL for a number that is no grade. */
const char *nc_grade_word(enum nc_grade grade);
/* True and *ret_grade set when `word` is exactly one of the three. */
bool nc_grade_parse(const char *word, enum nc_grade *ret_grade);
/* Does `advertised` satisfy `required`? Numbers that are no grade satisfy nothing and are satisfied by nothing. */
bool nc_grade_meets(enum nc_grade advertised, enum nc_grade required);

const char *nc_fact_word(enum nc_fact fact);	/* NULL for a number that is no fact */
const char *nc_fact_meaning(enum nc_fact fact); /* likewise */
bool nc_fact_parse(const char *word, enum nc_fact *ret_fact);

#endif
