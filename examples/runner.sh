#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# runner.sh PROFILE PUBLIC-KEY [OPTION of `netcordon run`...] -- COMMAND... - a Runner in a shell: launch, wait for `sealed`, pass a secret, read, verify
#
# Needs jq and root. SECRET is handed to the command as API_TOKEN. Prints one JSON line; exits 1 if something went wrong.
set -u
netcordon=${NETCORDON:-netcordon}
profile=$1 key=$2 options=()
shift 2
while [ "$1" != -- ]; do options+=("$1"); shift; done
shift

work=$(mktemp -d /tmp/runner-XXXXXX)
trap 'rm -rf "$work"' EXIT
mkfifo "$work/status" "$work/hold" "$work/env"
jq -cn --arg nonce "$(cat /proc/sys/kernel/random/uuid)" '{$nonce, provider: "netcordon:run-provider"}' >"$work/binding"

# Both sides open the pipes in the same order. The child must not hold our ends of them: the end of file would never come.
"$netcordon" run --profile "$profile" --bind "$work/binding" --status-fd 3 --hold-fd 4 --env-fd 5 "${options[@]}" -- "$@" \
	3>"$work/status" 4<"$work/hold" 5<"$work/env" </dev/null >"$work/output" &
child=$!
exec 6<"$work/status" 7>"$work/hold" 8>"$work/env"

messages=() ended=null folder="" instance=""
while read -r line <&6; do
	event=$(jq -r .event <<<"$line")
	messages+=("$event")
	case $event in
	sealed) # the policy holds, and nothing of the command has run: now, and not before, the secret
		folder=$(jq -r .evidence <<<"$line")
		instance=$(jq -r .instance <<<"$line")
		printf 'API_TOKEN=%s\0' "${SECRET-}" >&8
		exec 8>&-
		printf g >&7
		exec 7>&-
		;;
	exited | failed) ended=$line ;;
	esac
done
wait "$child"
code=$?
answer=none
[ -z "$folder" ] || answer=$("$netcordon" evidence verify "$folder" --public-key "$key" --expect "$work/binding" --json | jq -r .answer)
jq -cn --arg instance "$instance" --argjson ended "$ended" --argjson code "$code" --rawfile output "$work/output" --arg answer "$answer" \
	'{$instance, messages: $ARGS.positional, $ended, $code, $output, $answer}' --args "${messages[@]}"
[ "$answer" = complete ] && [ "$(jq -r .event <<<"$ended")" = exited ]
