#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# verify-statement.sh PUBLIC-KEY DOMAIN STATEMENT - checks STATEMENT against STATEMENT.sig with nothing but openssl 3 and jq
#
# The domain is the caller's to say: it is what kind of statement he wants to believe, and it is inside the signed bytes.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
	printf '%s\n' "$2"
	cat -- "$3"
} >"$work/message"
jq -er .signature "$3.sig" | base64 -d >"$work/signature"
openssl pkeyutl -verify -rawin -pubin -inkey "$1" -in "$work/message" -sigfile "$work/signature"
