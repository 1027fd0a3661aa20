// Holds the results of the conformance suite in a folder against expected-failures.txt: `node compare.mjs FOLDER REVISION`.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [folder, revision] = process.argv.slice(2);
const lines = readFileSync(new URL("expected-failures.txt", import.meta.url), "utf8").split("\n");
const expected = new Set(lines.map((line) => line.split("#")[0].trim().split(/\s+/)).filter((words) => words.length === 3)
    .filter((words) => words[0] === revision).map((words) => `${words[1]} ${words[2]}`));

let passed = 0;
const failed = new Map();
for (const entry of readdirSync(folder)) {
    // server-SCENARIO-TIME
    const scenario = entry.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, "");
    for (const check of JSON.parse(readFileSync(join(folder, entry, "checks.json"), "utf8"))) {
        if (check.status === "SUCCESS") passed += 1;
        if (check.status === "FAILURE") failed.set(`${scenario} ${check.id}`, check.errorMessage ?? "");
    }
}
if (passed === 0) {
    console.log("✗ the suite did not run");
    process.exit(1);
}
const surprises = [...failed.keys()].filter((name) => !expected.has(name));
const stale = [...expected].filter((name) => !failed.has(name));
surprises.forEach((name) => console.log(`✗ ${name}: ${failed.get(name)}`));
stale.forEach((name) => console.log(`✗ ${name} is expected to fail, and does not`));
console.log(`${surprises.length + stale.length ? "✗" : "✓"} ${passed} checks passed, ${failed.size - surprises.length} failed as expected`);
process.exit(surprises.length + stale.length ? 1 : 0);
