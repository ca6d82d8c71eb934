/**
 * Mutates every field of a valid object of every kind in all useful ways, in a create and in an update. The expected responses are
 * the tables in `mutations/testdata`. `REWRITE=1` writes them anew; check each changed line against the rules of 1.24.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parseAllDocuments } from 'yaml';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { answersTo, type Sample } from '#test/integration/apiserver/mutations/answers.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { startServer } from '#test/integration/apiserver/server.js';

const testdata = fileURLToPath(new URL('../../../../test/integration/apiserver/mutations/testdata/', import.meta.url));
const scheme = schemeFor(kubernetesDialect);

const samples: readonly Sample[] = readdirSync(join(testdata, 'objects'))
  .sort()
  .flatMap((name) => parseAllDocuments(readFileSync(join(testdata, 'objects', name), 'utf8')))
  .map((document) => document.toJS() as Sample);

t.setTimeout(300_000);

t.test('every kind has a sample', async (t) => {
  const given = new Set(samples.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  for (const { resource } of everyCase) {
    const { group, version, kind } = resource;
    // Older versions of a kind have the same rules as the newest.
    const newer = everyCase.some(
      ({ resource: other }) =>
        other.group === group && other.kind === kind && (!/beta/.test(other.version) || other.version > version),
    );
    if (/beta/.test(version) && newer) continue;
    const apiVersion = kubernetesDialect.apiVersion(group, version);
    t.ok(given.has(`${apiVersion} ${kind}`), `${apiVersion} ${kind}`);
  }
});

t.test('responses to mutations', async (t) => {
  const server = await startServer(t, {
    dialect: kubernetesDialect,
    dependencies: { gate: gateFor(everyCase, 'ServerSideFieldValidation') },
  });
  for (const sample of samples) {
    const info = scheme.resourceOfKind(sample.apiVersion, sample.kind);
    if (info === undefined) throw new Error(`no resource of ${sample.kind}`);
    const { group, version } = info.declaration;
    const lines = await answersTo(server, info, sample);
    const file = join(testdata, 'answers', `${group}.${version}.${sample.kind}.txt`);
    const text = `${lines.join('\n')}\n`;
    if (process.env.REWRITE === '1') {
      mkdirSync(join(testdata, 'answers'), { recursive: true });
      writeFileSync(file, text);
    } else t.strictSame(text.split('\n'), readFileSync(file, 'utf8').split('\n'), `${group} ${version} ${sample.kind}`);
  }
});
