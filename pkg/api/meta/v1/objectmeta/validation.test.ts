import t from 'tap';
import { deploymentStrategy } from '#api/apps/v1/deployment/strategy.js';
import { configmaps, namespaces } from '#api/core/v1/resources.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import { createFailures, type Draft, updateFailures, withField } from '#api/testing/strategy-table.js';

const strategy = kindStrategy(configmaps);
const base: Draft = { metadata: { name: 'm', namespace: 'ns' } };
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };
const part =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

t.test('create', (t) => {
  const rows: [string, unknown, ...string[]][] = [
    ['metadata.name', '', 'metadata.name: Required value: name or generateName is required'],
    ['metadata.namespace', '', 'metadata.namespace: Required value'],
    ['metadata.generateName', 'web-'],
    ['metadata.labels', { 'a b': 'c' }, `metadata.labels: Invalid value: "a b": ${part}`],
    ['metadata.labels', { 'x.io/a': 'B_1' }],
    ['metadata.annotations', { '-': 'anything at all' }, `metadata.annotations: Invalid value: "-": ${part}`],
    ['metadata.annotations', { 'X.io/a': 'upper case is fine here' }],
    ['metadata.annotations', { a: 'x'.repeat(256 * 1024 - 1) }],
    [
      'metadata.annotations',
      { a: 'x'.repeat(256 * 1024) },
      'metadata.annotations: Too long: must have at most 262144 bytes',
    ],
    ['metadata.generation', -1, 'metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ['metadata.ownerReferences', [owner]],
    [
      'metadata.ownerReferences',
      [{}],
      ...['apiVersion', 'kind', 'name', 'uid'].map(
        (f) =>
          `metadata.ownerReferences.${f}: Invalid value: "": ${f === 'apiVersion' ? 'version' : f} must not be empty`,
      ),
    ],
    [
      'metadata.ownerReferences',
      [{ ...owner, kind: 'Event' }],
      'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
    ],
    ['metadata.finalizers', ['x.io/a']],
    ['metadata.finalizers', ['orphan']],
    [
      'metadata.finalizers',
      ['mine'],
      'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ],
    [
      'metadata.finalizers',
      ['orphan', 'foregroundDeletion'],
      'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
    ],
    [
      'metadata.managedFields',
      [{ operation: 'X' }],
      'metadata.managedFields[0].operation: Invalid value: "X": must be `Apply` or `Update`',
    ],
    [
      'metadata.managedFields',
      [{ operation: 'Apply', fieldsType: 'X' }],
      'metadata.managedFields[0].fieldsType: Invalid value: "X": must be `FieldsV1`',
    ],
    [
      'metadata.managedFields',
      [{ operation: 'Apply', manager: 'a\nb' }],
      'metadata.managedFields[0].manager: Invalid value: "a\\nb": should only contain printable characters',
    ],
  ];
  for (const [path, value, ...want] of rows) {
    t.strictSame(
      createFailures(strategy, withField(base, path, value)),
      want,
      `${path} = ${JSON.stringify(value).slice(0, 60)}`,
    );
  }
  const two = [
    { ...owner, controller: true },
    { ...owner, name: 'q', controller: true },
  ];
  t.match(
    createFailures(strategy, withField(base, 'metadata.ownerReferences', two)).join(),
    'Only one reference can have Controller set to true. Found "true" in references for p and q',
  );
  t.strictSame(createFailures(kindStrategy(namespaces), { metadata: { name: 'n', namespace: 'ns' }, spec: {} }), [
    'metadata.namespace: Forbidden: not allowed on this type',
  ]);
  t.end();
});

t.test('update', (t) => {
  const subdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  const old = {
    metadata: { name: 'm', namespace: 'ns', uid: 'u', generation: 1, creationTimestamp: '2024-01-01T00:00:00Z' },
  };
  const rows: [string, unknown, ...string[]][] = [
    ['metadata.labels', { a: 'b' }],
    ['metadata.name', 'n', 'metadata.name: Invalid value: "n": field is immutable'],
    ['metadata.generateName', 'm-'],
    [
      'metadata.generateName',
      'a/b',
      `metadata.generateName: Invalid value: "a/b": may not contain '/'`,
      `metadata.generateName: Invalid value: "a/b": ${subdomain}`,
    ],
    ['metadata.uid', 'v', 'metadata.uid: Invalid value: "v": field is immutable'],
    ['metadata.creationTimestamp', undefined, 'metadata.creationTimestamp: Invalid value: "null": field is immutable'],
  ];
  for (const [path, value, ...want] of rows) {
    t.strictSame(
      updateFailures(strategy, old, withField(old, path, value)),
      want,
      `${path} = ${JSON.stringify(value)}`,
    );
  }
  // Updates of some kinds are not validated as a whole.
  const deployment = { ...old, spec: { selector: {}, template: {} } };
  const failures = (generateName: string) =>
    updateFailures(deploymentStrategy, deployment, withField(deployment, 'metadata.generateName', generateName)).filter(
      (failure) => failure.startsWith('metadata'),
    );
  t.strictSame(failures('Bad Value!'), []);
  t.strictSame(failures('a/b'), [`metadata.generateName: Invalid value: "a/b": may not contain '/'`]);
  const deleted = withField(
    withField(old, 'metadata.deletionTimestamp', '2024-01-01T00:00:00Z'),
    'metadata.finalizers',
    ['x.io/a'],
  );
  t.strictSame(updateFailures(strategy, deleted, withField(deleted, 'metadata.finalizers', [])), []);
  t.strictSame(updateFailures(strategy, deleted, withField(deleted, 'metadata.finalizers', ['x.io/a', 'x.io/b'])), [
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/b"}',
  ]);
  t.end();
});
