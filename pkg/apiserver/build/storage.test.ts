import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { buildEncryption } from '#apiserver/build/storage.js';
import { type ApiServerValues, apiServerOptions } from '#apiserver/options/options.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { createStorageMetrics } from '#storage/metrics.js';

function valuesWith(path: string): ApiServerValues {
  const parsed = parseOptions(apiServerOptions(dialect), [`--encryption-provider-config=${path}`], { program: 'test' });
  if (parsed.kind !== 'run') throw new TypeError('no options');
  return parsed.values;
}

void t.test('the encryption configuration is read from the file of the option', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'encryption-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'config.yaml');
  const build = (option: string) =>
    buildEncryption(valuesWith(option), { dialect, clock, metrics: createStorageMetrics(new Registry()) });
  const secret = Buffer.alloc(32, 'k').toString('base64');
  const file = (text: string) =>
    `apiVersion: ${dialect.apiServerConfigVersion}\nkind: EncryptionConfiguration\nresources:\n${text}`;

  await writeFile(
    path,
    file(`- resources: [secrets]\n  providers:\n  - secretbox: {keys: [{name: a, secret: ${secret}}]}\n`),
  );
  t.same([...(await build(path)).transformers.keys()], ['secrets']);
  t.same([...(await build('')).transformers.keys()], [], 'without the option nothing is encrypted');

  await writeFile(
    path,
    file(`- resources: [secrets]\n  providers:\n  - aescbc: {keys: [{name: a, secret: ${secret}xx}]}\n`),
  );
  const refused = await build(path).catch((err: unknown) => err);
  t.ok(refused instanceof OptionsError);
  t.same(refused instanceof OptionsError && refused.messages, [
    `--encryption-provider-config: ${path}: resources[0].providers[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded`,
  ]);
  t.notMatch(String(refused), new RegExp(secret.slice(0, 10)));
  await t.rejects(build(join(folder, 'missing')), { message: /^--encryption-provider-config: ENOENT/ });
});
