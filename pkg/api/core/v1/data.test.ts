import t from 'tap';
import { configMapStrategy } from '#api/core/v1/configmap/strategy.js';
import { base64Bytes } from '#api/core/v1/data/validation.js';
import { secretStrategy } from '#api/core/v1/secret/strategy.js';
import { serviceAccountStrategy } from '#api/core/v1/serviceaccount/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'm', namespace: 'ns', creationTimestamp: '2024-05-31T23:00:00Z' } };
type Row = [string, unknown, ...string[]];
const key =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const b64 = (text: string): string => Buffer.from(text).toString('base64');
const fixed = 'field is immutable when `immutable` is set';

t.test('config maps', (t) => {
  const rows: Row[] = [
    ['data', { a: 'x', '.b': 'y' }],
    ['data', { 'a b': 'x' }, `data[a b]: Invalid value: "a b": ${key}`],
    ['data', { '..': 'x' }, 'data[..]: Invalid value: "..": must not be \'..\''],
    ['binaryData', { 'a/b': '' }, `binaryData[a/b]: Invalid value: "a/b": ${key}`],
    ['data', { a: 'x'.repeat(1024 * 1024) }],
    ['data', { a: 'x'.repeat(1024 * 1024 + 1) }, '[]: Too long: must have at most 1048576 bytes'],
  ];
  for (const [path, value, ...want] of rows) {
    t.strictSame(createFailures(configMapStrategy, withField(base, path, value)), want, path);
  }
  t.strictSame(createFailures(configMapStrategy, { ...base, data: { a: '' }, binaryData: { a: '' } }), [
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ]);
  const frozen = { ...base, immutable: true, data: { a: '1' } };
  t.strictSame(updateFailures(configMapStrategy, frozen, frozen), []);
  t.strictSame(updateFailures(configMapStrategy, frozen, { ...frozen, data: { a: '2' } }), [
    `data: Forbidden: ${fixed}`,
  ]);
  t.strictSame(updateFailures(configMapStrategy, frozen, { ...base, data: { a: '1' } }), [
    `immutable: Forbidden: ${fixed}`,
  ]);
  t.strictSame(
    configMapStrategy.cells?.(
      created(configMapStrategy, { ...base, data: { a: '', b: '' }, binaryData: { c: '' } }) as never,
      testContext,
    ),
    ['m', 3, '60m'],
  );
  t.end();
});

t.test('secrets', (t) => {
  const of = (type: string, data?: Record<string, string>, annotations?: object): Draft =>
    withField({ ...base, type, ...(data !== undefined && { data }) }, 'metadata.annotations', annotations);
  const rows: [string, Draft, ...string[]][] = [
    ['opaque', base],
    ['bad key', { ...base, data: { 'a b': '' } }, `data[a b]: Invalid value: "a b": ${key}`],
    [
      'too much',
      { ...base, data: { a: b64('x'.repeat(1024 * 1024 + 1)) } },
      'data: Too long: must have at most 1048576 bytes',
    ],
    [
      'token',
      of('orch.io/service-account-token'),
      'metadata.annotations[orch.io/service-account.name]: Required value',
    ],
    ['token of an account', of('orch.io/service-account-token', {}, { 'orch.io/service-account.name': 'a' })],
    ['dockercfg', of('orch.io/dockercfg'), 'data[.dockercfg]: Required value'],
    ['dockerconfigjson', of('orch.io/dockerconfigjson', { '.dockerconfigjson': b64('{}') })],
    [
      'dockerconfigjson that is none',
      of('orch.io/dockerconfigjson', { '.dockerconfigjson': b64('hush') }),
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be valid JSON',
    ],
    ['basic', of('orch.io/basic-auth'), 'data[username]: Required value', 'data[password]: Required value'],
    ['basic with a name only', of('orch.io/basic-auth', { username: b64('u') })],
    ['ssh', of('orch.io/ssh-auth', { 'ssh-privatekey': '' }), 'data[ssh-privatekey]: Required value'],
    ['tls', of('orch.io/tls', { 'tls.crt': '' }), 'data[tls.key]: Required value'],
  ];
  for (const [name, draft, ...want] of rows) t.strictSame(createFailures(secretStrategy, draft), want, name);
  const plain = created(secretStrategy, { ...base, data: { a: b64('1'), b: b64('2') }, stringData: { b: 'ü' } });
  t.strictSame(plain, { ...base, type: 'Opaque', data: { a: b64('1'), b: b64('ü') } });
  t.strictSame(updateFailures(secretStrategy, base, { ...base, type: 'x' }), [
    'type: Invalid value: "x": field is immutable',
  ]);
  t.strictSame(secretStrategy.cells?.(plain as never, testContext), ['m', 'Opaque', 2, '60m']);
  t.strictSame(secretStrategy.selectableFields?.(plain as never), { type: 'Opaque' });
  for (const text of ['', 'a', 'ab', 'abc', 'abcd']) t.equal(base64Bytes(b64(text)), text.length);
  t.end();
});

t.test('service accounts keep the names of secrets only', (t) => {
  const account = created(serviceAccountStrategy, { ...base, secrets: [{ name: 's', namespace: 'x' }] });
  t.strictSame(account, { ...base, secrets: [{ name: 's' }] });
  t.strictSame(serviceAccountStrategy.cells?.(account as never, testContext), ['m', 1, '60m']);
  t.end();
});
