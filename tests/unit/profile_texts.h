/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profile_texts.h - profiles of one interesting member, for test_profile.c and test_profile_refused.c
 */
#ifndef NC_TEST_PROFILE_TEXTS_H
#define NC_TEST_PROFILE_TEXTS_H

/* clang-format off */
#define LIST(entries) "{\"version\":1,\"network\":{\"mode\":\"allowlist\",\"destinations\":[" entries "]}}"
#define HOST(host) LIST("{\"host\":\"" host "\",\"port\":443}")
#define PLANE(entries) "{\"version\":1,\"network\":{\"mode\":\"none\"},\"plane\":{\"destinations\":[" entries "]}}"
#define WITH(member) "{\"version\":1,\"network\":{\"mode\":\"none\"}," member "}"
#define PROCESS(member) WITH("\"process\":{" member "}")
#define LABEL63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAME253 LABEL63 "." LABEL63 "." LABEL63 ".aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
/* clang-format on */

#endif
