/** Properties of all types: JSON and Protobuf carry the same data, and decoders only ever refuse invalid input. */

import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { decodeJSON } from '#apimachinery/codec/json/json.js';
import { decodeMessage } from '#apimachinery/codec/protobuf/decode.js';
import { encodeMessage } from '#apimachinery/codec/protobuf/encode.js';
import { decodeEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import { ProtobufListReader } from '#apimachinery/codec/protobuf/list-reader.js';
import {
  decodeProtobuf,
  encodeProtobuf,
  protobufItem,
  protobufItemMessage,
  protobufListEnds,
} from '#apimachinery/codec/protobuf/protobuf.js';
import { encodeWatchFrame, WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { InternTable } from '#apimachinery/intern-table.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const scheme = schemeFor(orchDialect);

const shared = () => ({ table: new InternTable() });

/** Wire types without JSON objects (parts of the envelope). */
const wireOnly = new Set(['runtime.Unknown', 'core.v1.NodeResources']);

t.test('objects of every type survive both encodings', async (t) => {
  const objects = new RandomObjects(seededRandom(seed));
  const common = shared();
  for (const name of scheme.typeNames()) {
    const type = scheme.type(name);
    if (type.shape !== 'struct' || wireOnly.has(name)) continue;
    for (let i = 0; i < 4; i++) {
      const object = objects.object(type);
      const text = JSON.stringify(object);
      const fromJSON = decodeJSON(text, type, 'Strict').object;
      if (JSON.stringify(fromJSON) !== text) t.strictSame(fromJSON, object, `JSON of ${name}, SEED=${seed}`);
      const bytes = encodeMessage(type, object);
      const fromProtobuf = decodeMessage(type, bytes);
      t.strictSame(fromProtobuf, object, `Protobuf of ${name}, SEED=${seed}`);
      t.strictSame(decodeMessage(type, bytes, common), object, `Protobuf of ${name} with shared parts, SEED=${seed}`);
      if (!encodeMessage(type, fromProtobuf).equals(bytes)) t.fail(`bytes of ${name} differ, SEED=${seed}`);
    }
  }
});

t.test('the zero object of every type survives both encodings', async (t) => {
  for (const name of scheme.typeNames()) {
    if (wireOnly.has(name)) continue;
    const type = scheme.type(name);
    const bytes = encodeMessage(type, undefined);
    const value = decodeMessage(type, bytes);
    t.ok(encodeMessage(type, value).equals(bytes), `${name} is stable`);
  }
});

t.test('broken messages give typed errors', async (t) => {
  const random = seededRandom(seed);
  const objects = new RandomObjects(random);
  const kinds = ['core.v1.Pod', 'apps.v1.Deployment', 'apiextensions.v1.CustomResourceDefinition', 'core.v1.Node'];
  let refused = 0;
  const attempt = (name: string, bytes: Buffer) => {
    try {
      decodeMessage(scheme.type(name), bytes);
    } catch (error) {
      refused++;
      if (!(error instanceof Error) || error.name !== 'DecodeError') throw error;
    }
  };
  for (const name of kinds) {
    const bytes = encodeMessage(scheme.type(name), objects.object(scheme.type(name)));
    for (let i = 0; i < 300; i++) attempt(name, bytes.subarray(0, Math.floor(random() * bytes.length)));
    for (let i = 0; i < 300; i++) {
      const broken = Buffer.from(bytes);
      for (let n = 0; n < 3; n++) broken[Math.floor(random() * broken.length)] = Math.floor(random() * 256);
      attempt(name, broken);
    }
    for (let i = 0; i < 300; i++) {
      attempt(name, Buffer.from(Array.from({ length: 40 }, () => Math.floor(random() * 256))));
    }
  }
  t.not(refused, 0);
  attempt('core.v1.Pod', Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]));
  attempt('core.v1.Pod', Buffer.from([0x0b]));
  // Schemas nested in schemas.
  let nested = Buffer.alloc(0);
  for (let i = 0; i < 2000; i++) {
    const length: number[] = [];
    for (let n = nested.length; ; n >>>= 7) {
      length.push(n < 128 ? n : (n & 127) | 128);
      if (n < 128) break;
    }
    nested = Buffer.concat([Buffer.from([0xe2, 0x01, ...length]), nested]);
  }
  t.throws(() => decodeMessage(scheme.type('apiextensions.v1.JSONSchemaProps'), nested), /exceeded max depth/);
});

t.test('broken JSON gives typed errors', async (t) => {
  const random = seededRandom(seed);
  const objects = new RandomObjects(random);
  const parts = [
    'null',
    '{',
    '}',
    '[',
    ']',
    '"',
    ',',
    ':',
    '1e999',
    '-0',
    'true',
    '"x"',
    '{"a":{}}',
    '\\u0000',
    '__proto__',
  ];
  let refused = 0;
  for (const name of ['core.v1.Pod', 'apps.v1.Deployment', 'apiextensions.v1.CustomResourceDefinition']) {
    const type = scheme.type(name);
    const text = JSON.stringify(objects.object(type));
    for (let i = 0; i < 400; i++) {
      const at = Math.floor(random() * text.length);
      const part = parts[Math.floor(random() * parts.length)] ?? '';
      try {
        decodeJSON(text.slice(0, at) + part + text.slice(at + Math.floor(random() * 4)), type, 'Warn');
      } catch (error) {
        refused++;
        if (!(error instanceof Error) || error.name !== 'StatusError') throw error;
      }
    }
  }
  t.not(refused, 0);
});

t.test('only valid envelopes are decoded', async (t) => {
  const info = scheme.kind('v1', 'ConfigMap');
  if (info === undefined) throw new Error('no ConfigMap');
  const object = { metadata: { name: 'a' }, data: { x: 'y' } };
  const bytes = encodeProtobuf(info, object);
  t.strictSame(decodeProtobuf(scheme, bytes).object, { kind: 'ConfigMap', apiVersion: 'v1', ...object });
  t.throws(() => decodeProtobuf(scheme, Buffer.from('{}')), { code: 400 });
  t.throws(() => decodeProtobuf(scheme, Buffer.from('k8s\0\x0a\x7f')), { code: 400 });
  t.throws(() => decodeProtobuf(scheme, encodeProtobuf({ ...info, kind: 'Nothing' }, object)), /no kind "Nothing"/);
  t.equal(decodeEnvelope(bytes).kind, 'ConfigMap');
  const crd = schemeFor(kubernetesDialect).type('apiextensions.v1.JSONSchemaProps');
  const listType = { 'x-kubernetes-list-type': 'set' };
  t.strictSame(decodeMessage(crd, encodeMessage(crd, listType)), listType, 'extensions have the names of the dialect');
});

t.test('a list can be assembled from encoded items', async (t) => {
  const list = scheme.kind('v1', 'ConfigMapList');
  const item = scheme.kind('v1', 'ConfigMap');
  if (list === undefined || item === undefined) throw new Error('no ConfigMap');
  const metadata = { resourceVersion: '7' };
  for (const count of [0, 1, 300]) {
    const items = Array.from({ length: count }, (_, i) => ({
      metadata: { name: `c${i}` },
      data: { a: 'x'.repeat(i) },
    }));
    const messages = items.map((object) => encodeMessage(item.type, object));
    const encoded = messages.map((message) => protobufItem(message));
    const { head, tail } = protobufListEnds(list, metadata, Buffer.concat(encoded).length);
    t.ok(Buffer.concat([head, ...encoded, tail]).equals(encodeProtobuf(list, { metadata, items })), `${count} items`);
    t.ok(encoded.every((bytes, i) => protobufItemMessage(bytes).equals(messages[i] ?? bytes)));
  }
});

t.test('watch frames are split at any chunks', async (t) => {
  const objects = ['a', 'b'.repeat(1000), ''].map((text) => Buffer.from(text));
  const stream = Buffer.concat(objects.map((object) => encodeWatchFrame('ADDED', object)));
  const event = scheme.type('meta.v1.WatchEvent');
  const json = Buffer.from('{"a":1}');
  t.strictSame(decodeMessage(event, encodeWatchFrame('ADDED', json).subarray(4)), { type: 'ADDED', object: { a: 1 } });
  for (const size of [1, 3, 7, 1000, stream.length]) {
    const reader = new WatchFrameReader();
    const seen: string[] = [];
    for (let at = 0; at < stream.length; at += size) {
      for (const frame of reader.push(stream.subarray(at, at + size)))
        seen.push(`${frame.type} ${frame.object.toString()}`);
    }
    t.strictSame(
      seen,
      objects.map((object) => `ADDED ${object.toString()}`),
      `pieces of ${size}`,
    );
    t.ok(reader.isComplete);
  }
  t.throws(() => new WatchFrameReader({ maxFrameBytes: 10 }).push(encodeWatchFrame('ADDED', Buffer.alloc(100))), {
    name: 'DecodeError',
  });
});

t.test('fields may come in any order, and repeated ones are merged', (t) => {
  const type = scheme.type('core.v1.PodSpec');
  const part = (spec: object) => encodeMessage(type, spec);
  const bytes = Buffer.concat([
    part({ containers: [{ name: 'a' }], nodeSelector: { x: '1' } }),
    part({ volumes: [{ name: 'v', emptyDir: {} }], securityContext: { runAsUser: 7, fsGroup: 1 } }),
    part({ containers: [{ name: 'b' }], nodeSelector: { y: '2' }, securityContext: { supplementalGroups: [1] } }),
    part({ securityContext: { supplementalGroups: [2], fsGroup: 3 } }),
  ]);
  const table = new InternTable();
  for (const options of [{}, { table }, { table }, { table }]) {
    t.match(decodeMessage(type, bytes, options), {
      containers: [{ name: 'a' }, { name: 'b' }],
      volumes: [{ name: 'v', emptyDir: {} }],
      nodeSelector: { x: '1', y: '2' },
      securityContext: { runAsUser: 7, fsGroup: 3, supplementalGroups: [1, 2] },
    });
  }
  t.end();
});

t.test('a list is decoded while it arrives', (t) => {
  const kind = scheme.kind('v1', 'PodList');
  if (kind === undefined) throw new Error('no pods');
  const names = { apiVersion: 'v1', kind: 'PodList', type: kind.type };
  const items = Array.from({ length: 20 }, (_, i) => ({
    metadata: { name: `p${i}`, annotations: { long: 'x'.repeat(i * 20) } },
    spec: { containers: [{ name: 'c' }] },
  }));
  for (const list of [
    { metadata: { resourceVersion: '7', continue: 'more' }, items },
    { metadata: {}, items: [] },
  ]) {
    const bytes = encodeProtobuf(names, list);
    const whole = decodeProtobuf(scheme, bytes).object;
    for (const size of [1, 3, 100, 1000, bytes.length]) {
      const reader = new ProtobufListReader(scheme, shared());
      for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
      t.strictSame(reader.finish(), whole, `${list.items.length} items in pieces of ${size}`);
    }
    const cut = new ProtobufListReader(scheme);
    cut.push(bytes.subarray(0, bytes.length - 6));
    t.throws(() => cut.finish(), /unexpected EOF/);
  }
  const wrong: [Buffer, RegExp][] = [
    [Buffer.from('{"kind":"List"}'), /expected prefix/],
    [encodeProtobuf({ ...names, kind: 'Odd' }, { items: [] }), /no list "Odd"/],
    [encodeProtobuf({ ...names, kind: 'Pod' }, { items: [] }), /no list "Pod"/],
    [Buffer.from([0x6b, 0x38, 0x73, 0, 8, 1]), /does not begin with its type/],
    [Buffer.from([0x6b, 0x38, 0x73, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), /overflow/],
  ];
  for (const [bytes, message] of wrong) t.throws(() => new ProtobufListReader(scheme).push(bytes), message);
  t.end();
});
