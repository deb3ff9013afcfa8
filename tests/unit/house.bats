#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# house.bats - the rules of the house, kept by machine. Every rule is tried on a file that breaks it, too: a check that finds nothing anywhere
# would be green for ever.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	mapfile -t sources < <(find bpf kernel-headers loader userspace tests -name build -prune -o -name '*.[ch]' -print | sort)
	mapfile -t scripts < <(find tests .ci -type f \( -name '*.bash' -o -name '*.bats' -o -perm -u+x \) | sort | xargs -r grep -lE '^#!.*(bash|bats|sh)$|shellcheck shell' --)
}

# complain LINES: fails with them when there are any
complain() {
	[ -z "$1" ] && return
	printf '%s\n' "$1"
	return 1
}

foreign_includes_of_userspace() { grep -nE '#include *[<"](bpf/|libbpf|netlink/|linux/bpf|linux/rtnetlink|linux/inet_diag|linux/sock_diag)' "$@" || true; }
foreign_includes_of_loader() { grep -nE '#include *[<"](sodium|jansson|seccomp|ldns|argp|json\.h|key\.h|profile\.h|evidence\.h|statement\.h|launch\.h)' "$@" || true; }

@test "userspace includes nothing of libbpf or libnl, the loader nothing of libsodium, jansson or the stages in front of it" {
	complain "$(foreign_includes_of_userspace userspace/*.[ch])"
	complain "$(foreign_includes_of_loader loader/*.[ch])"
	printf '#include <bpf/libbpf.h>\n' >"$BATS_TEST_TMPDIR/u.c"
	printf '#include "profile.h"\n' >"$BATS_TEST_TMPDIR/l.c"
	[ -n "$(foreign_includes_of_userspace "$BATS_TEST_TMPDIR/u.c")" ]
	[ -n "$(foreign_includes_of_loader "$BATS_TEST_TMPDIR/l.c")" ]
}

# clang-format leaves comments as they are. Tabs are 8 columns wide.
wide_comments() {
	awk '/^[ \t]*(#|\/\*|\*|\/\/)/ && !/^#(define|include|if)/ && length() + 7 * gsub(/\t/, "&") > 160 {
		columns = 0
		for (i = 1; i <= length(); i++) columns += substr($0, i, 1) == "\t" ? 8 - columns % 8 : 1
		if (columns > 160) print FILENAME ":" FNR ": " columns " columns"
	}' "$@"
}

@test "no comment is wider than 160 columns; they are wrapped at 150" {
	complain "$(wide_comments "${sources[@]}" "${scripts[@]}")"
	printf '\t/* %0150d */\n' 0 >"$BATS_TEST_TMPDIR/wide.c"
	[ -n "$(wide_comments "$BATS_TEST_TMPDIR/wide.c")" ]
}

# About 500: tests, whose tables of cases are better read in one piece, may have 650.
long_files() { wc -l "$@" | awk '$2 != "total" && $1 > ($2 ~ /^tests\// ? 650 : 500) {print $2 ": " $1 " lines"}'; }

@test "no file has more than about 500 lines" {
	complain "$(long_files "${sources[@]}" "${scripts[@]}")"
	seq 501 >"$BATS_TEST_TMPDIR/long.c"
	[ -n "$(long_files "$BATS_TEST_TMPDIR/long.c")" ]
}

# A function's body stands between braces in the first column; tables, which do not begin with one, are not counted. A test may have 80: its steps.
long_functions() {
	awk 'FNR == 1 {start = 0; most = FILENAME ~ /^tests\// ? 80 : 60}
	     /^\{/ {start = FNR}
	     /^\}/ {if (start && FNR - start - 1 > most) print FILENAME ":" start ": " FNR - start - 1 " lines"; start = 0}' "$@"
}

@test "no function has more than about 60 lines" {
	complain "$(long_functions "${sources[@]}")"
	{ echo 'int f(void)'; echo '{'; seq 61; echo '}'; } >"$BATS_TEST_TMPDIR/long.c"
	[ -n "$(long_functions "$BATS_TEST_TMPDIR/long.c")" ]
}

without_licence() { for file; do head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file"; done; }

@test "every file says its licence, and what it is, at its head" {
	local file
	complain "$(without_licence "${sources[@]}" "${scripts[@]}")"
	complain "$(for file in "${sources[@]}"; do head -n 5 "$file" | grep -qE "\*.*$(basename "${file%.*}").* - " || echo "$file: says not what it is"; done)"
	echo 'int x;' >"$BATS_TEST_TMPDIR/none.c"
	[ -n "$(without_licence "$BATS_TEST_TMPDIR/none.c")" ]
}

unfinished() { grep -nwE 'TO''DO|FIX''ME|X''XX|HA''CK' "$@" || true; }

@test "nothing is marked as unfinished" {
	complain "$(unfinished "${sources[@]}" "${scripts[@]}" Makefile README.md docs/*)"
	echo '/* TO''DO */' >"$BATS_TEST_TMPDIR/u.c"
	[ -n "$(unfinished "$BATS_TEST_TMPDIR/u.c")" ]
}

@test "nothing is called util, common or misc" {
	complain "$(printf '%s\n' "${sources[@]}" "${scripts[@]}" | grep -E '(^|[/_-])(utils?|common|misc)([._-]|$)' || true)"
}

@test "every function that other files see begins with nc_" {
	[ -e build/netcordon ]
	# no_lookup.o takes the place of functions of the C library
	complain "$(find build/userspace build/loader -name '*.o' ! -name no_lookup.o -exec nm -g --defined-only {} + | awk 'NF == 3 && $3 !~ /^nc_/ && $3 != "main" && $3 !~ /^netcordon_bpf/ {print $3}')"
}

@test "everything is formatted as .clang-format says" {
	run clang-format --dry-run -Werror "${sources[@]}"
	complain "$(grep -oE '^[^:]+:[0-9]+:[0-9]+: error' <<<"$output" | cut -d: -f1 | sort | uniq -c)"
	[ "$status" -eq 0 ]
	printf 'int  f( void ){return 0;}\n' >"$BATS_TEST_TMPDIR/x.c"
	cp .clang-format "$BATS_TEST_TMPDIR"
	run clang-format --dry-run -Werror "$BATS_TEST_TMPDIR/x.c"
	[ "$status" -ne 0 ]
}

@test "shellcheck finds nothing in the scripts" {
	local file
	# what `load` brings in, and what it reads, is not seen
	for file in "${scripts[@]}"; do
		case $file in
		*.bats) shellcheck -x -S warning -s bats -e SC2154,SC2034 "$file" ;;
		*) shellcheck -x -S warning -e SC1007,SC2046,SC2155,SC2120,SC2164,SC2044 "$file" ;;
		esac
	done
}

@test "the table of kernels in README.md is the one that tests/vm/closures.tsv makes" {
	[ "$(cut -f 1 tests/vm/closures.tsv | sort -u | wc -l)" = "$(grep -c '^[0-9n]' tests/vm/kernels.list)" ]
	tests/vm/table print >"$BATS_TEST_TMPDIR/table"
	sed '1,/^<!-- kernels:/d; /^<!-- end of kernels/,$d' README.md | diff "$BATS_TEST_TMPDIR/table" -
}

# What is signed under a domain that no table has is described nowhere.
@test "every domain of a signature stands in the one table of domains" {
	[ "$(grep -hoE '^#define NC_DOMAIN_[A-Z]+ ' userspace/*.[ch] | awk '{ print $2 }' | sort)" = \
		"$(sed -n '/^#define NC_DOMAINS(X)/,/[^\\]$/p' userspace/statement.h | grep -oE 'NC_DOMAIN_[A-Z]+' | sort)" ]
}

@test "the documents name every command, reason, error, option and member of the configuration" {
	local word
	build/netcordon help >/dev/null
	for word in $(build/netcordon help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' | tr ' ' -); do
		grep -q "^.B netcordon ${word//-/ }\$" build/netcordon.8 || complain "netcordon.8 does not name ${word//-/ }"
	done
	for word in $(sed -n 's/^\tX([A-Z0-9_]*, [0-9]*, "\([a-z_]*\)", \(ALLOW\|DENY\|REDIRECT\),.*/\1/p' kernel-headers/netcordon_abi.h) \
		$(sed -n 's/^\tX([A-Z_]*, "\([a-z_]*\)", [123],.*/\1/p' loader/error.h) \
		$(sed -n 's/^\tX(\([a-z0-9_]*\), ".*/\1/p' userspace/config.h); do
		grep -q "^.B $word" build/netcordon.8 || complain "netcordon.8 does not name $word"
	done
}
