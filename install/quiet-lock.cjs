// Removes from package-lock.json which Node each package asks for: npm compares that with the Node that it runs on itself, and
// warns of dozens of packages on Node 20, but the service and its tests run on the Node among the packages. `npm run lock` runs it.
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const file = join(__dirname, '../package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));
for (const [path, entry] of Object.entries(lock.packages)) if (path !== '') delete entry.engines;
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
