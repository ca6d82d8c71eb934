import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseEncryptionConfig } from '#storage/encryption/encryption-config.js';
import { resourceEncryption } from '#storage/encryption/resource-encryption.js';
import type { Transformed } from '#storage/encryption/transformer.js';
import { createStorageMetrics } from '#storage/metrics.js';

const secret = (size: number, fill = 'k'): string => Buffer.alloc(size, fill).toString('base64');
const config = (rules: unknown, head: object = {}): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: rules,
    ...head,
  });
const one = (...providers: unknown[]): string => config([{ resources: ['secrets'], providers }]);

function errorsOf(text: string, dialect: Dialect = kubernetesDialect): readonly string[] {
  try {
    parseEncryptionConfig(text, dialect);
  } catch (err) {
    if (err instanceof OptionsError) return err.messages;
    throw err;
  }
  return [];
}

void t.test('files with either API group, and with the older name', async (t) => {
  const providers = [{ aesgcm: { keys: [{ name: 'a', secret: secret(16) }] } }, { identity: {} }];
  t.same(parseEncryptionConfig(one(...providers), kubernetesDialect), [
    {
      resources: ['secrets'],
      providers: [{ type: 'aesgcm', keys: [{ name: 'a', secret: Buffer.alloc(16, 'k') }] }, { type: 'identity' }],
    },
  ]);
  const rules = [{ resources: ['secrets'], providers }];
  t.same(errorsOf(config(rules, { apiVersion: 'apiserver.config.orch.io/v1' }), orchDialect), []);
  t.match(errorsOf(config(rules), orchDialect), [/apiVersion must be "apiserver.config.orch.io\/v1"/]);
  t.same(errorsOf(config(rules, { apiVersion: 'v1', kind: 'EncryptionConfig' })), []);
});

void t.test('invalid files', async (t) => {
  const key = { name: 'a', secret: secret(32) };
  const path = 'resources[0].providers[0]';
  const rows: [string, string, string[]][] = [
    ['no rules', config([]), ['resources: Required value: at least one resources is required']],
    [
      'an empty rule',
      config([{}]),
      [
        'resources[0].resources: Required value: at least one resources[0].resources is required',
        'resources[0].providers: Required value: at least one resources[0].providers is required',
      ],
    ],
    [
      'an empty provider',
      one({}),
      [
        `${path}: Invalid value: "REDACTED": provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity`,
      ],
    ],
    [
      'two providers in one',
      one({ identity: {}, aescbc: { keys: [key] } }),
      [
        `${path}: Invalid value: "REDACTED": more than one provider specified in a single element, should split into different list elements`,
      ],
    ],
    ['no keys', one({ secretbox: {} }), [`${path}.secretbox.keys: Required value: at least one keys is required`]],
    [
      'nameless keys',
      one({ aescbc: { keys: [{}] } }),
      [
        `${path}.aescbc.keys[0].name: Required value: name is a mandatory field for a key`,
        `${path}.aescbc.keys[0].secret: Required value: secret is a mandatory field for a key`,
      ],
    ],
    [
      'not base64',
      one({
        aescbc: {
          keys: [
            { name: 'a', secret: 'hunter2!' },
            { name: 'b', secret: 4242 },
          ],
        },
      }),
      [0, 1].map((i) => `${path}.aescbc.keys[${i}].secret: Invalid value: "REDACTED": secrets must be base64 encoded`),
    ],
    [
      'wrong lengths',
      one(
        { aesgcm: { keys: [{ name: 'a', secret: secret(17) }] } },
        { secretbox: { keys: [{ name: 'b', secret: secret(16) }] } },
      ),
      [
        `${path}.aesgcm.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 17, expected one of [16 24 32]`,
        'resources[0].providers[1].secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 16, expected one of [32]',
      ],
    ],
    [
      'an empty key management service',
      one({ kms: { timeout: '0s', cachesize: 0 } }),
      [
        `${path}.kms.name: Required value: name is a mandatory field for a provider`,
        `${path}.kms.timeout: Invalid value: 0s: timeout should be a positive value`,
        `${path}.kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms`,
        `${path}.kms.cachesize: Invalid value: 0: cachesize should be a positive value, or negative to disable`,
      ],
    ],
    [
      'wrong types of a key management service',
      one({ kms: { name: 1, endpoint: ['x'], timeout: 3, cachesize: 'a', keys: [] } }),
      [
        `unknown field "${path}.kms.keys"`,
        `${path}.kms.name: Invalid value: "REDACTED": must be a string`,
        `${path}.kms.name: Required value: name is a mandatory field for a provider`,
        `${path}.kms.timeout: Invalid value: "REDACTED": must be a duration`,
        `${path}.kms.endpoint: Invalid value: "REDACTED": must be a string`,
        `${path}.kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms`,
        `${path}.kms.cachesize: Invalid value: "REDACTED": must be a 32-bit integer`,
      ],
    ],
    ...(
      [
        ['tcp://127.0.0.1:1', 'unsupported scheme "tcp" for KMS provider, only unix is supported'],
        ['/run/kms.sock', 'unsupported scheme "" for KMS provider, only unix is supported'],
        [
          'unix:///a\n',
          'invalid endpoint for kms provider, error: parse "unix:///a\\n": net/url: invalid control character in URL',
        ],
        ['unix:///%zz', 'invalid endpoint for kms provider, error: parse "unix:///%zz": invalid URL escape "%zz"'],
        ['://a', 'invalid endpoint for kms provider, error: parse "://a": missing protocol scheme'],
      ] as const
    ).map(([endpoint, reason]): [string, string, string[]] => [
      endpoint,
      one({ kms: { name: 'x', endpoint } }),
      [`${path}.kms.endpoint: Invalid value: ${JSON.stringify(endpoint)}: ${reason}`],
    ]),
    ['unknown fields', one({ identity: { a: 1 } }), [`unknown field "${path}.identity.a"`]],
    [
      'wrong types',
      config([{ resources: 'secrets', providers: [{ aescbc: 'hunter2' }, 'hunter2'] }]),
      [
        'resources[0].resources: Invalid value: "REDACTED": must be a list',
        'resources[0].resources: Required value: at least one resources[0].resources is required',
        `${path}.aescbc: Invalid value: "REDACTED": must be an object`,
        `${path}.aescbc.keys: Required value: at least one keys is required`,
        'resources[0].providers[1]: Invalid value: "REDACTED": must be an object',
        'resources[0].providers[1]: Invalid value: "REDACTED": provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
      ],
    ],
    [
      'another kind',
      config([], { kind: 'Pod' }),
      [
        'got unexpected config type: apiVersion must be "apiserver.config.k8s.io/v1" and kind "EncryptionConfiguration"',
        'resources: Required value: at least one resources is required',
      ],
    ],
    ['no object', '- hunter2', ['must be an object']],
    ['no YAML', 'a: b\n  hunter2: [', ['line 2: cannot be read as YAML']],
    ['a field twice', 'kind: hunter2\nkind: hunter2\n', ['line 2: cannot be read as YAML']],
    ['a bad alias', 'a: *hunter2\n', ['cannot be read as YAML']],
  ];
  for (const [name, text, expected] of rows) {
    const errors = errorsOf(text);
    t.same(errors, expected, name);
    t.notMatch(errors.join(), /hunter2|4242|a2tra2tr/, 'contains no secret');
  }
});

t.test('a key management service and its defaults', async (t) => {
  const read = (kms: object) => parseEncryptionConfig(one({ kms }), kubernetesDialect)[0]?.providers;
  const service = { type: 'kms', name: 'x', timeoutMs: 3000, cacheSize: 1000 };
  t.same(read({ name: 'x', endpoint: 'unix:///run/x.sock' }), [{ ...service, socket: '/run/x.sock' }]);
  t.same(read({ name: 'x', endpoint: 'unix:///@x', timeout: '1m', cachesize: -1 }), [
    { ...service, socket: '@x', timeoutMs: 60_000, cacheSize: -1 },
  ]);
});

/** The keys are in this process. */
interface LocalTransformer {
  toStorage(value: Buffer, context: string): Buffer;
  fromStorage(bytes: Buffer, context: string): Transformed;
}

function transformerOf(text: string, registry = new Registry()): LocalTransformer {
  const { transformers } = resourceEncryption(parseEncryptionConfig(text, kubernetesDialect), {
    reserved: kubernetesDialect.encryptedPrefix,
    random: randomBytes,
    clock: realClock,
    metrics: createStorageMetrics(registry),
    openService: ({ name }) => {
      throw new TypeError(`no service ${name}`);
    },
  });
  const transformer = transformers.get('secrets');
  if (transformer === undefined) throw new Error('no transformer');
  return transformer as LocalTransformer;
}

const context = '/registry/secrets/default/a';
const value = Buffer.from('{"kind":"Secret","apiVersion":"v1","metadata":{}}');
const cbc = (...names: string[]) => ({ aescbc: { keys: names.map((name) => ({ name, secret: secret(32, name) })) } });
const gcm = (...names: string[]) => ({ aesgcm: { keys: names.map((name) => ({ name, secret: secret(32, name) })) } });
const box = (...names: string[]) => ({
  secretbox: { keys: names.map((name) => ({ name, secret: secret(32, name) })) },
});
const identity = { identity: {} };

void t.test('the first key writes, all keys read', async (t) => {
  const written = new Map(
    Object.entries({
      'k8s:enc:aescbc:v1:one:': one(cbc('one', 'two')),
      'k8s:enc:aescbc:v1:two:': one(cbc('two', 'one')),
      'k8s:enc:aesgcm:v1:one:': one(gcm('one')),
      'k8s:enc:secretbox:v1:one:': one(box('one')),
      '{"kind":"Secret"': one(identity),
    }).map(([prefix, text]) => [prefix, transformerOf(text).toStorage(value, context)]),
  );
  for (const [prefix, bytes] of written) {
    t.equal(bytes.subarray(0, prefix.length).toString(), prefix);
    if (!prefix.startsWith('{')) t.equal(bytes.indexOf('Secret'), -1, 'the message contains no part of the value');
  }
  const reader = transformerOf(one(gcm('one'), cbc('two', 'one'), box('one'), identity));
  const stale: Record<string, boolean> = {};
  for (const [prefix, bytes] of written) {
    const read = reader.fromStorage(bytes, context);
    t.same(read.value, value);
    stale[prefix] = read.stale;
  }
  t.same(stale, {
    'k8s:enc:aescbc:v1:one:': true,
    'k8s:enc:aescbc:v1:two:': true,
    'k8s:enc:aesgcm:v1:one:': false,
    'k8s:enc:secretbox:v1:one:': true,
    '{"kind":"Secret"': true,
  });
  const second = transformerOf(one(cbc('two', 'one')));
  t.equal(
    second.fromStorage(written.get('k8s:enc:aescbc:v1:one:') as Buffer, context).stale,
    true,
    'by its second key',
  );
  t.equal(second.fromStorage(written.get('k8s:enc:aescbc:v1:two:') as Buffer, context).stale, false);
});

void t.test('identity first turns encryption off', async (t) => {
  const bytes = transformerOf(one(cbc('one'))).toStorage(value, context);
  const off = transformerOf(one(identity, cbc('one')));
  t.same(off.fromStorage(bytes, context), { value, stale: true, authenticated: false });
  t.same(off.toStorage(value, context), value);
  t.same(off.fromStorage(value, context), { value, stale: false, authenticated: false });
});

void t.test('several rules for one resource', async (t) => {
  const text = config([
    { resources: ['secrets', 'configmaps'], providers: [gcm('one')] },
    { resources: ['secrets'], providers: [identity] },
  ]);
  t.equal(transformerOf(text).fromStorage(value, context).stale, true);
});

void t.test('a key of the same name is replaced in place', async (t) => {
  const named = (fill: string) => ({ aesgcm: { keys: [{ name: 'key', secret: secret(32, fill) }] } });
  const bytes = transformerOf(one(named('old'))).toStorage(value, context);
  const read = transformerOf(one(named('new'), named('old'))).fromStorage(bytes, context);
  t.same([read.value, read.stale], [value, true]);
});

void t.test('unreadable values', async (t) => {
  const bytes = transformerOf(one(cbc('one'))).toStorage(value, context);
  const rows: [string, Buffer, RegExp][] = [
    [one(cbc('two')), bytes, /^no matching key was found for the provided AES transformer$/],
    [one(box('two')), bytes, /^no matching prefix found$/],
    [one(identity), bytes, /^no matching prefix found$/],
    [one(cbc('one')), value, /^no matching prefix found$/],
    [one(gcm('one')), Buffer.from('k8s:enc:aesgcm:v1:one:'), /^the stored data was shorter than the required size$/],
  ];
  for (const [text, stored, message] of rows) {
    t.throws(() => transformerOf(text).fromStorage(stored, context), { name: 'TransformError', message });
  }
});

void t.test("metrics are 1.24's", async (t) => {
  const registry = new Registry();
  const transformer = transformerOf(one(gcm('one'), identity), registry);
  transformer.fromStorage(transformer.toStorage(value, context), context);
  transformer.fromStorage(value, context);
  t.throws(() => transformer.fromStorage(Buffer.from('k8s:enc:kms:v1:x:'), context));
  const text = await registry.metrics();
  for (const line of [
    'apiserver_storage_transformation_operations_total{transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:",status="OK"} 1',
    'apiserver_storage_transformation_operations_total{transformation_type="from_storage",transformer_prefix="one:",status="OK"} 1',
    'apiserver_storage_transformation_operations_total{transformation_type="from_storage",transformer_prefix="identity",status="OK"} 1',
    'apiserver_storage_transformation_operations_total{transformation_type="from_storage",transformer_prefix="unknown",status="Unknown"} 1',
    'apiserver_storage_transformation_duration_seconds_bucket{le="0.000005",transformation_type="to_storage"}',
  ]) {
    t.ok(text.includes(line), line);
  }
});
