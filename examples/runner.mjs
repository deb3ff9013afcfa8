#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-only
// runner.mjs PROFILE PUBLIC-KEY [OPTION of `netcordon run`...] -- COMMAND... - a Runner in Node: launch, wait for `sealed`, pass a secret, read, verify
//
// Node 16 or newer, as root. SECRET is handed to the command as API_TOKEN. LAUNCHES starts that many at once. One JSON line each; exits 1 if one went wrong.
import { spawn, execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const netcordon = process.env.NETCORDON ?? "netcordon", split = process.argv.indexOf("--");
const [profile, publicKey, ...options] = process.argv.slice(2, split), command = process.argv.slice(split + 1);
const work = mkdtempSync("/tmp/runner-"), text = async (stream) => {
	let all = "";
	for await (const bytes of stream.setEncoding("utf8")) all += bytes;
	return all;
};

async function launch(secret) {
	const binding = `${work}/${randomUUID()}`, result = { messages: [] };
	writeFileSync(binding, JSON.stringify({ nonce: randomUUID(), provider: "netcordon:run-provider" }));
	const child = spawn(netcordon, ["run", "--profile", profile, "--bind", binding, "--status-fd", "3", "--hold-fd", "4", "--env-fd", "5",
		...options, "--", ...command], { stdio: Array(6).fill("pipe") });
	const [input, , , status, hold, environment] = child.stdio;
	for (const stream of [input, hold, environment]) stream.on("error", () => {}); // netcordon is gone: its last line and exit status say why
	input.end();
	const output = text(child.stdout), errors = text(child.stderr);
	const closed = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
	for await (const line of createInterface({ input: status })) {
		const message = JSON.parse(line);
		result.messages.push(message.event);
		result[message.event] = message;
		if (message.event === "sealed") { // the policy holds, and nothing of the command has run: now, and not before, the secret
			environment.end(`API_TOKEN=${secret}\0`);
			hold.end("g");
		}
	}
	Object.assign(result, await closed, { output: await output, errors: await errors });
	if (result.sealed) result.evidence = await verify(result.sealed.evidence, binding);
	return result;
}

const verify = (folder, binding) => new Promise((resolve) =>
	execFile(netcordon, ["evidence", "verify", folder, "--public-key", publicKey, "--expect", binding, "--json"],
		(_error, stdout) => resolve(JSON.parse(stdout || '{"answer": "none"}'))));

const results = await Promise.all(Array.from({ length: Number(process.env.LAUNCHES ?? 1) }, () => launch(process.env.SECRET ?? "")));
for (const { messages, sealed, exited, failed, code, output, errors, evidence } of results)
	console.log(JSON.stringify({ instance: sealed?.instance, messages, ended: exited ?? failed, code, output, errors, answer: evidence?.answer }));
rmSync(work, { recursive: true });
process.exitCode = results.every(({ exited, evidence }) => exited && evidence?.answer === "complete") ? 0 : 1;
