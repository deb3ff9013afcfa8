#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""runner.py PROFILE PUBLIC-KEY [OPTION of `netcordon run`...] -- COMMAND... - a Runner in Python: launch, wait for `sealed`, pass a secret, read, verify

Python 3.8 or newer, as root, nothing else. SECRET is handed to the command as API_TOKEN. Prints one JSON line; exits 1 if something went wrong.
"""
import json, os, subprocess, sys, tempfile, uuid

NETCORDON = os.environ.get("NETCORDON", "netcordon")


def launch(profile, binding, options, command, secret):
    """One instance, from its start to its end: every message of the status descriptor, the command's output, the exit status."""
    (status, status_end), (hold_end, hold), (environment_end, environment) = os.pipe(), os.pipe(), os.pipe()
    ours = (status_end, hold_end, environment_end)
    child = subprocess.Popen(
        [NETCORDON, "run", "--profile", profile, "--bind", binding, "--status-fd", str(status_end), "--hold-fd", str(hold_end), "--env-fd",
         str(environment_end), *options, "--", *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=ours)
    for end in ours:  # or the end of file would never come
        os.close(end)
    messages = {}
    with open(status) as lines, open(hold, "wb") as go, open(environment, "wb") as secrets:
        for line in lines:
            message = json.loads(line)
            messages[message["event"]] = message
            if message["event"] == "sealed":  # the policy holds, and nothing of the command has run: now, and not before, the secret
                secrets.write(f"API_TOKEN={secret}\0".encode())
                secrets.close()
                go.write(b"g")
                go.close()
            elif message["event"] == "started":
                break  # the rest comes at the end; what the command writes must be read meanwhile
        output = child.stdout.read()
        messages.update((message["event"], message) for message in map(json.loads, lines))
    return messages, output.decode(errors="replace"), child.wait()


def verify(folder, public_key, binding):
    done = subprocess.run([NETCORDON, "evidence", "verify", folder, "--public-key", public_key, "--expect", binding, "--json"],
                          stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout or b'{"answer": "none"}')


split = sys.argv.index("--")
profile, public_key, *options = sys.argv[1:split]
with tempfile.NamedTemporaryFile("w", suffix=".json") as binding:
    json.dump({"nonce": str(uuid.uuid4()), "provider": "netcordon:run-provider"}, binding)
    binding.flush()
    messages, output, code = launch(profile, binding.name, options, sys.argv[split + 1 :], os.environ.get("SECRET", ""))
    answer = verify(messages["sealed"]["evidence"], public_key, binding.name)["answer"] if "sealed" in messages else None
ended = messages.get("exited") or messages.get("failed")
print(json.dumps({"instance": ended and ended.get("instance"), "messages": list(messages), "ended": ended, "code": code, "output": output, "answer": answer}))
sys.exit(0 if "exited" in messages and answer == "complete" else 1)
