/** Tests of several files in one process: `node together.js FILE…`. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const files = process.argv.slice(2);
// tap names folders by all of the command line, which may be longer than a name may be.
process.argv.splice(3);
const { default: t } = await import('tap');
for (const file of files) await import(pathToFileURL(resolve(file)).href);
// Settings that one file passes to its tests must not reach the other files.
t.setTimeout(1000 * Number(process.env['TAP_TIMEOUT']));
