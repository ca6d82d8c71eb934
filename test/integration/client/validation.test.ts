/** Client-side validation by a server's OpenAPI document gives the messages of kubectl 1.24.17. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { OpenAPIDocument } from '#cmd/orchctl/api/open-api.js';
import { directiveOf, validateManifests } from '#cmd/orchctl/validation/validate.js';
import { call, startServer } from '#test/integration/apiserver/server.js';
import { objects } from '#test/integration/client/validation/objects.js';

const file = new URL('../../../../test/integration/client/validation/recorded.json', import.meta.url);
const recorded = JSON.parse(readFileSync(fileURLToPath(file), 'utf8')) as readonly string[];
const turnOff = 'if you choose to ignore these errors, turn validation off with --validate=false';

const manifestOf = (object: object, source = 'a.yaml') => ({ object, source });

t.test('gives the messages of kubectl for a server without field validation', async (t) => {
  const server = await startServer(t, { dialect: kubernetesDialect });
  const document = (await call(server, 'GET', '/openapi/v2')).json as OpenAPIDocument;
  const warnings: string[] = [];
  const options = { document: () => Promise.resolve(document), warn: (text: string) => warnings.push(text) };
  t.equal(recorded.length, objects.length);
  for (const [i, object] of objects.entries()) {
    const words = recorded[i] ?? '';
    const checked = validateManifests([manifestOf(object)], { ...options, directive: 'Strict' });
    const name = JSON.stringify(object, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    if (words === '') await t.resolves(checked, name);
    else {
      const message = `error validating "a.yaml": error validating data: ${words}; ${turnOff}`;
      await t.rejects(checked, { name: 'CommandError', message }, name);
    }
  }
  const odd = objects[1] ?? {};
  await t.rejects(validateManifests([manifestOf(odd, '-')], { ...options, directive: 'Strict' }), {
    message: /"STDIN"/,
  });
  await validateManifests([manifestOf(odd)], { ...options, directive: 'Ignore' });
  await validateManifests([manifestOf(odd)], { ...options, directive: 'Warn' });
  t.same(warnings, [
    'cannot perform warn validation if server-side field validation is unsupported, skipping validation',
  ]);
});

t.test('leaves validation to a server with field validation', async (t) => {
  for (const dialect of [kubernetesDialect, orchDialect]) {
    const server = await startServer(t, { dialect, gates: { ServerSideFieldValidation: true } });
    const document = () => call(server, 'GET', '/openapi/v2').then(({ json }) => json as OpenAPIDocument);
    const options = { document, warn: () => {}, directive: 'Strict' } as const;
    await t.resolves(validateManifests([manifestOf(objects[1] ?? {})], options), dialect.name);
  }
});

t.test('uses the kind names of the server’s dialect', async (t) => {
  const server = await startServer(t, { dialect: orchDialect });
  const document = () => call(server, 'GET', '/openapi/v2').then(({ json }) => json as OpenAPIDocument);
  const checked = validateManifests([manifestOf(objects[1] ?? {})], { document, warn: () => {}, directive: 'Strict' });
  await t.rejects(checked, {
    message: /ValidationError\(Pod\.spec\): unknown field "odd" in .*PodSpec; if you choose/,
  });
});

t.test('parses --validate', (t) => {
  const rows = { strict: 'Strict', true: 'Strict', '1': 'Strict', warn: 'Warn', ignore: 'Ignore', false: 'Ignore' };
  for (const [text, directive] of Object.entries(rows)) t.equal(directiveOf(text), directive);
  t.throws(() => directiveOf('maybe'), {
    message: 'invalid - validate option "maybe"; must be one of: strict (or true), warn, ignore (or false)',
  });
  t.end();
});
