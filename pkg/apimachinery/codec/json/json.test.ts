import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { decodeJSON, decodeValue, type FieldValidation } from '#apimachinery/codec/json/json.js';
import { orchDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(orchDialect);
const pod = scheme.type('core.v1.Pod');

function decode(name: string, value: unknown, validation?: FieldValidation) {
  return decodeJSON(JSON.stringify(value), scheme.type(name), validation);
}

/** The spec of a deployment without any fields set. */
const newDeployment = { template: { metadata: {}, spec: {} }, strategy: {} };

t.test('objects are decoded into canonical form', async (t) => {
  const rows: [string, string, unknown, unknown][] = [
    ['unknown members go', 'core.v1.PodSpec', { nodeName: 'a', foo: 1 }, { nodeName: 'a' }],
    ['nulls go', 'core.v1.PodSpec', { nodeName: null, hostname: 'h' }, { hostname: 'h' }],
    ['zero values without presence go', 'core.v1.PodSpec', { nodeName: '', hostNetwork: false, volumes: [] }, {}],
    [
      'zero values with presence stay',
      'apps.v1.DeploymentSpec',
      { replicas: 0, paused: false },
      { ...newDeployment, replicas: 0 },
    ],
    ['empty messages stay', 'apps.v1.DeploymentSpec', { selector: {} }, { ...newDeployment, selector: {} }],
    [
      'values that are always there',
      'core.v1.ContainerStatus',
      { ready: false, imageID: null },
      { name: '', state: {}, lastState: {}, ready: false, restartCount: 0, image: '', imageID: '' },
    ],
    [
      'quantities',
      'core.v1.ResourceRequirements',
      { limits: { cpu: '1000m', x: 2 } },
      { limits: { cpu: '1', x: '2' } },
    ],
    ['nulls in maps become zero', 'meta.v1.ObjectMeta', { labels: { a: null } }, { labels: { a: '' } }],
    [
      'times become UTC seconds',
      'meta.v1.ObjectMeta',
      { creationTimestamp: '2020-01-01T01:00:00.7+01:00' },
      { creationTimestamp: '2020-01-01T00:00:00Z' },
    ],
    ['the zero time goes', 'meta.v1.ObjectMeta', { creationTimestamp: '0001-01-01T00:00:00Z' }, {}],
    [
      'micro times',
      'coordination.v1.LeaseSpec',
      { renewTime: '2020-01-01T00:00:00.123456Z' },
      { renewTime: '2020-01-01T00:00:00.123456Z' },
    ],
    ['durations', 'meta.v1.Duration', '90s', '1m30s'],
    ['inline members', 'core.v1.Volume', { name: 'v', emptyDir: {} }, { name: 'v', emptyDir: {} }],
    ['int or string', 'core.v1.ServicePort', { port: 1, targetPort: 'http' }, { port: 1, targetPort: 'http' }],
    [
      'raw JSON as it is',
      'apps.v1.ControllerRevision',
      { data: { a: null }, revision: 1 },
      { data: { a: null }, revision: 1, metadata: {} },
    ],
    [
      'schemas',
      'apiextensions.v1.JSONSchemaProps',
      { items: { type: 'x' }, additionalProperties: false, enum: [null, 1] },
      { items: { type: 'x' }, additionalProperties: false, enum: [null, 1] },
    ],
    [
      'schema lists',
      'apiextensions.v1.JSONSchemaProps',
      { items: [{ type: 'x' }], dependencies: { a: ['b'] } },
      { items: [{ type: 'x' }], dependencies: { a: ['b'] } },
    ],
    [
      'metadata, spec and status are always there',
      'core.v1.Pod',
      { kind: 'Pod', status: null },
      { kind: 'Pod', metadata: {}, spec: {}, status: {} },
    ],
    [
      'messages below messages are always there',
      'core.v1.ServiceList',
      { items: [{ spec: { ports: [{ port: 1 }] } }] },
      {
        metadata: {},
        items: [{ metadata: {}, spec: { ports: [{ port: 1, targetPort: 0 }] }, status: { loadBalancer: {} } }],
      },
    ],
    ['items are always there', 'core.v1.PodList', { items: null }, { items: [], metadata: {} }],
    [
      'bits behind the end in base64',
      'core.v1.Secret',
      { data: { a: 'aGVsbG9=', b: 'YR==' } },
      { data: { a: 'aGVsbG8=', b: 'YQ==' }, metadata: {} },
    ],
    [
      'halves of surrogate pairs become the replacement character',
      'core.v1.Secret',
      { type: '\ud800', stringData: { a: '\\ud800', b: '\udc00\ud83d\ude80' } },
      { type: '\ufffd', stringData: { a: '\\ud800', b: '\ufffd\ud83d\ude80' }, metadata: {} },
    ],
    [
      'line breaks in base64',
      'core.v1.Secret',
      { data: { a: 'aGVs\nbG8=' } },
      { data: { a: 'aGVsbG8=' }, metadata: {} },
    ],
  ];
  for (const [name, type, value, want] of rows) t.strictSame(decode(type, value).object, want, name);
});

t.test('values of wrong types are refused with the messages of 1.24', async (t) => {
  const rows: [string, unknown, string][] = [
    [
      'core.v1.Pod',
      { spec: { containers: [{ name: 1 }] } },
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string',
    ],
    ['core.v1.Pod', { spec: 'x' }, 'json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec'],
    [
      'core.v1.Pod',
      { spec: { containers: {} } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    ['core.v1.Pod', { metadata: { labels: { a: 1 } } }, 'of type string'],
    [
      'core.v1.Pod',
      { metadata: { labels: [] } },
      'json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    ],
    ['core.v1.Pod', [], 'json: cannot unmarshal array into Go value of type struct { APIVersion string'],
    ['core.v1.Pod', { kind: 3 }, 'json: cannot unmarshal number into Go struct field .kind of type string'],
    [
      'apps.v1.Deployment',
      { spec: { replicas: '3' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'apps.v1.Deployment',
      { spec: { replicas: 3.5 } },
      'json: cannot unmarshal number 3.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    ['apps.v1.Deployment', { spec: { replicas: 3e9 } }, 'json: cannot unmarshal number 3000000000 into'],
    ['core.v1.ResourceRequirements', { limits: { cpu: 'x' } }, 'quantities must match the regular expression'],
    [
      'meta.v1.ObjectMeta',
      { creationTimestamp: '2020-02-30T00:00:00Z' },
      'parsing time "2020-02-30T00:00:00Z": day out of range',
    ],
    ['meta.v1.ObjectMeta', { creationTimestamp: '' }, 'parsing time "" as'],
    ['coordination.v1.LeaseSpec', { renewTime: '2020-01-01T00:00:00Z' }, '.000000Z07:00"'],
    ['core.v1.Secret', { data: { a: '*' } }, 'illegal base64 data at input byte 0'],
    ['core.v1.Secret', { data: { a: 'YWJjYQ' } }, 'illegal base64 data at input byte 4'],
    [
      'apiextensions.v1.JSONSchemaProps',
      { properties: { a: { items: { minLength: 'x' } } } },
      'json: cannot unmarshal string into Go struct field JSONSchemaProps.properties.items of type int64',
    ],
    [
      'core.v1.ServicePort',
      { targetPort: true },
      'json: cannot unmarshal bool into Go struct field ServicePort.targetPort of type int32',
    ],
  ];
  for (const [type, value, message] of rows) {
    t.throws(() => decode(type, value), { code: 400, reason: 'BadRequest' });
    try {
      decode(type, value);
    } catch (error) {
      t.ok(error instanceof Error && error.message.includes(message), `${message} in ${String(error)}`);
    }
  }
  t.throws(() => decodeJSON('{"a":', pod), /must be of type Pod\).*json parse error/);
});

t.test('unknown and repeated members are dropped, warned about or refused', async (t) => {
  const text =
    '{"kind":"Pod","spec":{"foo":1,"containers":[{"name":"a","image":"x","image":"y","b\\u0061r":{}}]},"spec":{"nodeName":"n"},"x":[{}]}';
  t.strictSame(decodeJSON(text, pod, 'Warn').warnings, [
    'unknown field "spec.foo"',
    'unknown field "spec.containers[0].bar"',
    'unknown field "x"',
    'duplicate field "spec.containers[0].image"',
    'duplicate field "spec"',
  ]);
  t.strictSame(decodeJSON(text, pod).warnings, []);
  t.throws(() => decodeJSON('{"spec":{"containers":[{"foo":1}]}}', pod, 'Strict'), {
    code: 400,
    message:
      'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].foo"',
  });
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`f${i}`, i])));
  t.equal(decodeJSON(many, pod, 'Warn').warnings.length, 100);
});

t.test('repeated members are found in any spelling', async (t) => {
  const rows: [text: string, repeats: string[]][] = [
    ['{"metadata":{"labels":{"a":"1","b":"2"}}}', []],
    ['{"metadata":{"labels":{"a":"1","a":"2"}}}', ['metadata.labels.a']],
    ['{"metadata" :{"labels":{"a" : "1","a":"2"}}}', ['metadata.labels.a']],
    ['{"metadata"\n:{"labels":{"a":"1"\t,"a"\t:"2"}}}', ['metadata.labels.a']],
    ['{"metadata":{"annotations":{"a":"{\\"b\\":1,\\"b\\":2}","c":"x:\\":"}}}', []],
    ['{"metadata":{"annotations":{"a":"{\\"b\\":1}","a":"\\":"}}}', ['metadata.annotations.a']],
    ['{"metadata":{"annotations":{"a\\\\":"1","b":"2","b":"3"}}}', ['metadata.annotations.b']],
    ['{"metadata":{"annotations":{"a\\\\":"1","a\\\\":"2"}}}', ['metadata.annotations.a\\']],
    ['{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},"f:a":{}}}]}}', ['metadata.managedFields[0].fieldsV1.f:a']],
    ['{"spec":{"nodeSelector":{"__proto__":"1","__proto__":"2"}}}', ['spec.nodeSelector.__proto__']],
    [
      '{"spec":{"containers":[{"resources":{"limits":{"cpu":"1","cpu":"1"}}}]}}',
      ['spec.containers[0].resources.limits.cpu'],
    ],
    ['{"spec":null,"spec":{}}', ['spec']],
  ];
  for (const [text, repeats] of rows) {
    const warnings = repeats.map((path) => `duplicate field ${JSON.stringify(path)}`);
    t.strictSame(decodeJSON(text, pod, 'Warn').warnings, warnings, text);
  }
});

t.test('deeply nested input is refused, and __proto__ sets no prototype', async (t) => {
  const deep = (open: string, close: string, n: number) => open.repeat(n) + close.repeat(n);
  t.throws(() => decodeJSON(deep('[', ']', 200_000), pod), { code: 400 });
  t.throws(
    () => decodeJSON(`{"x":${deep('[', ']', 200_000)}}`, pod),
    /exceeded max depth/,
    'unknown members are limited too',
  );
  const schema = scheme.type('apiextensions.v1.JSONSchemaProps');
  t.throws(() => decodeJSON(`${'{"not":'.repeat(5000)}{}${'}'.repeat(5000)}`, schema), /exceeded max depth/);
  t.throws(() => decodeJSON(`{"default":${deep('[', ']', 5000)}}`, schema), /exceeded max depth/);
  const labels = decodeJSON(
    '{"metadata":{"labels":{"__proto__":null,"a":"b"}},"__proto__":{"polluted":1}}',
    pod,
  ).object;
  t.equal(Object.getPrototypeOf(labels), Object.prototype);
  t.equal((labels as { polluted?: number }).polluted, undefined);
});

t.test('a parsed value is decoded', async (t) => {
  t.strictSame(decodeValue({ spec: { nodeName: 'a', x: 1 } }, pod, 'Warn'), {
    object: { spec: { nodeName: 'a' }, metadata: {}, status: {} },
    warnings: ['unknown field "spec.x"'],
  });
  const spec = Object.freeze({ nodeName: 'a', x: 1 });
  const { object, warnings } = decodeValue({ spec, status: { x: 1 } }, pod, 'Warn', { canonical: new Set([spec]) });
  t.equal(object.spec, spec, 'a canonical value is not converted again');
  t.strictSame(warnings, ['unknown field "status.x"']);
});
