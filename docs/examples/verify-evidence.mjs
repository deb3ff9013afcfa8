#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-only
// verify-evidence.mjs PUBLIC-KEY FOLDER - one instance's evidence, checked from the published rules alone (docs/formats.md)
//
// Node 16 or newer, nothing else. Says "complete" and exits 0, or says what is wrong and exits 1.
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [keyFile, folder] = process.argv.slice(2);
const key = createPublicKey(readFileSync(keyFile));
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
const must = (condition, complaint) => {
	if (!condition) throw new Error(complaint);
};

function canonical(value) {
	if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
	if (value === null || typeof value !== "object") return JSON.stringify(value);
	return "{" + Object.keys(value).sort().map((name) => JSON.stringify(name) + ":" + canonical(value[name])).join(",") + "}";
}

// A member that stands twice, or any other spelling, does not come out as the same bytes.
function parse(bytes) {
	const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
	must(Buffer.from(canonical(value)).equals(bytes), "not canonical");
	return value;
}

function statement(name, domain) {
	const bytes = readFileSync(join(folder, name));
	const { signature } = parse(readFileSync(join(folder, name + ".sig")));
	must(key.asymmetricKeyType === "ed25519", "not an Ed25519 key");
	must(verify(null, Buffer.concat([Buffer.from(domain + "\n"), bytes]), key, Buffer.from(signature, "base64")), `${name} does not verify`);
	return [parse(bytes), digest(bytes)];
}

function learn(names, document) {
	for (const row of Object.values(document.name_binding ?? {}).flat()) {
		must((names.get(row.name_id) ?? row.host) === row.host, `two names are number ${row.name_id}`);
		names.set(row.name_id, row.host);
	}
}

function verifyFolder() {
	const [launch, launchDigest] = statement("launch.json", "netcordon.launch.v1");
	const [closing] = statement("closing.json", "netcordon.closing.v1");
	const lines = readFileSync(join(folder, "events.jsonl")).toString("latin1").split("\n");
	const names = new Map();
	let last = launchDigest, kind;
	learn(names, launch);
	must(lines.pop() === "", "the last line is torn");
	lines.forEach((line, index) => {
		const bytes = Buffer.from(line, "latin1");
		const record = parse(bytes);
		must(record.sequence === index + 1 && record.previous === last, `record ${index + 1} does not follow the one before it`);
		learn(names, record);
		if (launch.name_binding && record.name_id !== undefined)
			must(names.has(record.name_id) && (record.name ?? names.get(record.name_id)) === names.get(record.name_id), `record ${index + 1} speaks of a name otherwise than it is listed`);
		[last, kind] = [digest(bytes), record.kind];
	});
	must(closing.launch === launchDigest, "the closing statement belongs to another launch");
	for (const name of ["instance", "generation", "boot_id", "manifest"]) must(closing[name] === launch[name], `${name} differs`);
	must(closing.count === lines.length && closing.last === last && kind === "end", "records are missing");
	must(closing.losses === "0", "events were lost");
}

try {
	verifyFolder();
} catch (error) {
	console.error(String(error));
	process.exit(1);
}
console.log("complete");
