import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { orchDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(orchDialect);
const codec = new ObjectCodec(scheme);
const configMap = scheme.kind('v1', 'ConfigMap');
if (configMap === undefined) throw new Error('no ConfigMap');

t.test('an object survives every encoding', async (t) => {
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

t.test('a watch event is decoded without kind and apiVersion', async (t) => {
  const expected = scheme.kind('v1', 'WatchEvent');
  if (expected === undefined) throw new Error('no WatchEvent');
  const body = Buffer.from('{"type":"ADDED"}');
  for (const encoding of ['json', 'yaml'] as const) {
    t.strictSame(codec.decode(body, { encoding, expected }).object, { type: 'ADDED' }, encoding);
  }
});

t.test('objects of another than the expected kind are refused', async (t) => {
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
