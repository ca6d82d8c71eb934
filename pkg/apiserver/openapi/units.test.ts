/** Documents out of units: all forms tell the same, and a change costs one unit. */
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { assembled } from '#apiserver/openapi/assembly.js';
import { formats } from '#apiserver/openapi/format.js';
import type { PathDocument } from '#apiserver/openapi/model.js';
import { Units } from '#apiserver/openapi/units.js';
import { unpack } from '#apiserver/representation/gzip-document.js';

const scheme = schemeFor(dialect);
const turns = new TurnQueue({ clock: realClock, defer: setImmediate });
const info = { title: 't', version: 'v' };
const paths: Record<string, PathDocument> = { '/x': {} };
const part = { hash: '1', paths, definitions: { A: { type: 'object' }, B: { type: 'string' } } };

t.test('parts of other servers stand beside what is there', async (t) => {
  const units = new Units({ scheme, dialect, turns, gate: () => false });
  const contents = { key: 'all', builtIn: [], custom: [], foreign: [part, { ...part, paths: {}, definitions: {} }] };
  const [json, protobuf] = formats[2];
  const row = await assembled(units, json, info, contents);
  const text = gunzipSync(Buffer.concat([...row.gzip()])).toString();
  t.same(JSON.parse(text), { swagger: '2.0', info, paths: { '/x': {} }, definitions: part.definitions });
  const binary = await assembled(units, protobuf, info, contents);
  const parts: Buffer[] = [];
  for await (const bytes of binary.plain()) parts.push(bytes);
  t.ok(Buffer.concat(parts).equals(gunzipSync(Buffer.concat([...binary.gzip()]))));
  const again = await assembled(units, json, info, contents);
  t.ok(
    row.parts.some((packed) => again.parts.includes(packed)),
    'what was compressed once is not compressed again',
  );
  const taken = await units.foreign({ ...part }, json, new Set(['A']));
  t.match((await unpack(taken.schemas)).toString(), /^"A_v2":.*"B":/, 'a name that is taken makes way');
});
