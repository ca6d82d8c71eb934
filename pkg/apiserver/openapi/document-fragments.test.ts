/** Documents from fragments: all forms have the same content, and a change costs one fragment. */
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { assembled } from '#apiserver/openapi/document-assembly.js';
import { formats } from '#apiserver/openapi/document-formats.js';
import { Fragments } from '#apiserver/openapi/document-fragments.js';
import type { PathDocument } from '#apiserver/openapi/document-types.js';
import { inflatePart } from '#apiserver/representation/gzip-document.js';

const scheme = schemeFor(dialect);
const turns = new TurnQueue({ clock: realClock, defer: setImmediate });
const info = { title: 't', version: 'v' };
const paths: Record<string, PathDocument> = { '/x': {} };
const part = { hash: '1', paths, definitions: { A: { type: 'object' }, B: { type: 'string' } } };

t.test('parts of other servers are added to the document', async (t) => {
  const units = new Fragments({ scheme, dialect, turns, gate: () => false });
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
  const renamed = await units.foreign({ ...part }, json, new Set(['A']));
  t.match((await inflatePart(renamed.schemas)).toString(), /^"A_v2":.*"B":/, 'a used name is replaced');
});
