import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { controllerManagerValues } from '#controllers/options/options.js';
import { rootCertificates, serviceAccountKey, signingAuthorities } from '#controllers/setup/key-material.js';
import { OptionsError } from '#daemon/options/option.js';
import { createAuthority } from '#pki/certificate.js';
import { generateEcKey, privateKeyToPem } from '#pki/keys.js';

t.test('certificates and keys are read on use, and invalid files rejected', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keys-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const pair = async (name: string) => {
    const authority = await createAuthority({ commonName: name, now: Date.now() });
    return {
      ...authority,
      crt: await file(`${name}.crt`, authority.certificate),
      key: await file(`${name}.key`, authority.privateKey),
    };
  };
  const [one, two] = [await pair('one'), await pair('two')];
  const authorities = (values: Record<string, string>) =>
    signingAuthorities(controllerManagerValues(orchDialect, values));
  const common = (crt: string, key: string) => ({ 'cluster-signing-cert-file': crt, 'cluster-signing-key-file': key });

  t.same(await authorities({}), {}, 'none');
  const all = await authorities(common(one.crt, one.key));
  t.same(Object.keys(all), ['apiServerClient', 'apiServerClientNodeAgent', 'nodeAgentServing', 'legacyUnknown']);
  t.equal((await all.legacyUnknown?.())?.certificate, one.certificate);
  await file('one.crt', two.certificate);
  await t.rejects(async () => {
    await all.legacyUnknown?.();
  }, /--cluster-signing-key-file is not the key of/);
  await file('one.key', two.privateKey);
  t.equal((await all.legacyUnknown?.())?.certificate, two.certificate, 'replaced');

  await file('one.crt', two.certificate + one.certificate);
  t.equal((await all.legacyUnknown?.())?.certificate, two.certificate + one.certificate, 'the first of several signs');

  const own = await authorities({
    'cluster-signing-nodeagent-serving-cert-file': two.crt,
    'cluster-signing-nodeagent-serving-key-file': two.key,
  });
  t.same(Object.keys(own), ['nodeAgentServing']);
  const bundle = await file('bundle', one.certificate + two.certificate);
  const ed25519 = await file('ed.key', privateKeyToPem(generateKeyPairSync('ed25519').privateKey));
  const rows: [name: string, crt: string, key: string, failure: RegExp][] = [
    ['nothing', join(folder, 'none'), two.key, /--cluster-signing-cert-file: ENOENT/],
    ['several, of which the first is not the key’s', bundle, two.key, /is not the key of --cluster-signing-cert-file/],
    ['no certificate', two.key, two.key, /expected 1 certificate, found 0/],
    ['a key that cannot sign', two.crt, ed25519, /cannot sign with a key of type ed25519/],
    ['no key', two.crt, two.crt, /--cluster-signing-cert-file, --cluster-signing-key-file: /],
  ];
  for (const [name, crt, key, failure] of rows) {
    await t.rejects(authorities(common(crt, key)), OptionsError, name);
    await t.rejects(authorities(common(crt, key)), failure, name);
  }

  t.equal(await rootCertificates(''), undefined);
  t.equal((await rootCertificates(two.crt))?.current, two.certificate);
  await t.rejects(rootCertificates(two.key), /holds no certificate in PEM form/);
  t.equal(await serviceAccountKey(undefined), undefined);
  const key = await file('sa.key', privateKeyToPem((await generateEcKey()).privateKey));
  t.equal((await serviceAccountKey(key))?.current.algorithm, 'ES256');
  await t.rejects(serviceAccountKey(two.crt), OptionsError);
});
