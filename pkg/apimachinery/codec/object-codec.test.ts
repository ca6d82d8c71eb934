import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { negotiateResponse, requestEncoding } from '#apimachinery/codec/negotiate.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(orchDialect);
const codec = new ObjectCodec(scheme);
const configMap = scheme.kind('v1', 'ConfigMap');
if (configMap === undefined) throw new Error('no ConfigMap');

t.test('an object in every encoding', async (t) => {
  const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' }, data: { x: 'yes', y: '12:30' } };
  for (const encoding of ['json', 'yaml', 'protobuf'] as const) {
    const bytes = codec.encode(object, configMap, encoding);
    t.strictSame(codec.decode(bytes, { encoding }), { object, kind: configMap, warnings: [] }, encoding);
    t.strictSame(codec.decode(bytes, { encoding, expected: configMap, validation: 'Strict' }).object, object, encoding);
  }
  const bare = { metadata: { name: 'a' } };
  t.strictSame(codec.decode(Buffer.from(JSON.stringify(bare)), { encoding: 'json', expected: configMap }).object, {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    ...bare,
  });
});

t.test('objects of another kind', async (t) => {
  const rows: [object, string][] = [
    [{ kind: 'Service', apiVersion: 'v1' }, 'Service in version "v1" cannot be handled as a ConfigMap'],
    [{ kind: 'Nothing', apiVersion: 'v1' }, 'no kind "Nothing" is registered for version "v1"'],
    [{ kind: 'ConfigMap', apiVersion: 'v2' }, 'no kind "ConfigMap" is registered for version "v2"'],
  ];
  for (const [object, message] of rows) {
    for (const encoding of ['json', 'yaml'] as const) {
      const bytes = Buffer.from(JSON.stringify(object));
      t.throws(() => codec.decode(bytes, { encoding, expected: configMap }), { code: 400, message });
    }
  }
  t.throws(() => codec.decode(Buffer.from('{}'), { encoding: 'json' }), /Object 'Kind' is missing in '{}'/);
  t.throws(() => codec.decode(Buffer.from('{"kind":"Pod"}'), { encoding: 'json' }), /'apiVersion' is missing/);
  t.throws(() => codec.decode(Buffer.from('[]'), { encoding: 'json' }), { code: 400 });
  const options = scheme.kind('v1', 'DeleteOptions');
  if (options === undefined) throw new Error('no DeleteOptions');
  const body = Buffer.from('{"kind":"DeleteOptions","apiVersion":"policy/v1","gracePeriodSeconds":0}');
  t.equal(codec.decode(body, { encoding: 'json', expected: options }).object.gracePeriodSeconds, 0);
});

t.test('YAML', async (t) => {
  const decode = (text: string) => codec.decode(Buffer.from(text), { encoding: 'yaml' }).object;
  const text = 'apiVersion: v1\nkind: Pod\nspec:\n  hostNetwork: yes\n  containers: [{name: a, image: "b"}]\n';
  t.match(decode(text), { spec: { hostNetwork: true, containers: [{ name: 'a', image: 'b' }] } });
  t.match(decode('{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}}'), {
    metadata: { creationTimestamp: '2020-01-01T00:00:00Z' },
  });
  t.match(decode('apiVersion: v1\nkind: Pod\nmetadata: {creationTimestamp: 2020-01-01T00:00:00Z}'), {
    metadata: { creationTimestamp: '2020-01-01T00:00:00Z' },
  });
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
  for (let i = 1; i < 9; i++)
    bomb.push(`${'abcdefghij'[i]}: &${'abcdefghij'[i]} [${Array(9).fill(`*${'abcdefghij'[i - 1]}`)}]`);
  t.throws(() => decode(bomb.join('\n')), { code: 400 });
  t.throws(() => decode('a: 1\na: 2'), { code: 400 });
  t.throws(() => decode('{a: ['), { code: 400 });
  t.throws(() => decode('['.repeat(100_000)), { code: 400 });
});

t.test('what the response will be', async (t) => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const offer = { transforms: ['Table', 'PartialObjectMetadata'] };
  t.match(negotiateResponse(undefined, orchDialect), { encoding: 'json', mediaType: 'application/json' });
  t.equal(negotiateResponse('*/*', orchDialect).encoding, 'json');
  t.equal(negotiateResponse('application/yaml', orchDialect).encoding, 'yaml');
  t.equal(negotiateResponse('application/*;q=0.1, application/yaml;q=0.2', orchDialect).encoding, 'yaml');
  t.equal(negotiateResponse('application/vnd.orch.protobuf,application/json', orchDialect).encoding, 'protobuf');
  t.equal(negotiateResponse('application/vnd.kubernetes.protobuf,application/json', orchDialect).encoding, 'json');
  t.equal(negotiateResponse('application/vnd.kubernetes.protobuf', kubernetesDialect).encoding, 'protobuf');
  t.match(negotiateResponse(`${table},application/json`, orchDialect, offer).as, {
    kind: 'Table',
    group: 'meta.k8s.io',
  });
  t.equal(
    negotiateResponse(`${table},application/json`, orchDialect).as,
    undefined,
    'what cannot be done is passed over',
  );
  t.match(negotiateResponse('application/json;as=Table;v=v1;g=meta.orch.io', orchDialect, offer).as, { version: 'v1' });
  t.equal(negotiateResponse('application/json;stream=watch', orchDialect).stream, 'watch');
  t.equal(negotiateResponse('application/json;pretty=1', orchDialect).pretty, true);
  t.throws(() => negotiateResponse('text/html', orchDialect), { code: 406 });
  t.throws(() => negotiateResponse('application/json;q=0', orchDialect), { code: 406 });
  t.throws(() => negotiateResponse(table, orchDialect), { code: 406 });
  t.throws(() => negotiateResponse('application/yaml', orchDialect, { encodings: ['json'] }), { code: 406 });
});

t.test('what the body is', async (t) => {
  t.equal(requestEncoding(undefined, orchDialect), 'json');
  t.equal(requestEncoding('application/json; charset=utf-8', orchDialect), 'json');
  t.equal(requestEncoding('application/vnd.orch.protobuf', orchDialect), 'protobuf');
  t.throws(() => requestEncoding('text/plain', orchDialect), { code: 415 });
});
