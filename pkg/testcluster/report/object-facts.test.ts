import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { factsOf, hasPreconditions } from '#testcluster/report/object-facts.js';
import type { RequestRecord } from '#testcluster/report/record.js';
import { RequestLog } from '#testcluster/report/request-log.js';

const codec = new ObjectCodec(schemeFor(dialect));

function encoded(apiVersion: string, kind: string, object: object, format: 'json' | 'protobuf'): Buffer {
  const info = codec.scheme.kind(apiVersion, kind);
  if (info === undefined) throw new Error(kind);
  return codec.encode({ apiVersion, kind, ...object }, info, format);
}

t.test('facts of objects are the same in JSON and in Protobuf', async (t) => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'o' };
  const cases = [
    {},
    { metadata: { name: 'a', namespace: 'n', labels: { b: 'c' } } },
    { metadata: { name: 'a', uid: 'u', resourceVersion: '17', ownerReferences: [owner], finalizers: ['x.y/z'] } },
    { metadata: { name: 'a', deletionTimestamp: '2026-01-02T03:04:05Z' }, data: { d: 'e' } },
  ];
  for (const object of cases) {
    const json = factsOf(Buffer.from(JSON.stringify({ metadata: {}, ...object })));
    t.same(factsOf(encoded('v1', 'ConfigMap', object, 'protobuf')), json, JSON.stringify(object));
  }
  for (const body of ['', '{', '[]', '1', '{"a":1}', 'k8s\0\x0a'])
    t.equal(factsOf(Buffer.from(body)), undefined, JSON.stringify(body));
});

t.test('preconditions of deletions', async (t) => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['', false],
    ['{}', false],
    ['{"preconditions":{}}', false],
    ['{"preconditions":{"uid":"u"}}', true],
    ['{"preconditions":{"resourceVersion":"1"}}', true],
    ['{', false],
  ];
  for (const [body, has] of cases) t.equal(hasPreconditions(Buffer.from(body)), has, body);
  const options = (object: object) => encoded('v1', 'DeleteOptions', object, 'protobuf');
  t.equal(hasPreconditions(options({ preconditions: { uid: 'u' } })), true);
  t.equal(hasPreconditions(options({ gracePeriodSeconds: 1 })), false);
});

t.test('what is remembered has a bound', async (t) => {
  const log = new RequestLog();
  const facts = { name: '', uid: '', resourceVersion: '1', isOwned: false, hasFinalizers: false, isDeleting: false };
  for (let i = 0; i < 60_000; i++) {
    const record: RequestRecord = {
      ...{ atMs: i, userAgent: `agent-${i % 1000}`, verb: i % 2 === 0 ? 'create' : 'update', resource: `r${i % 3000}` },
      ...{ subresource: '', namespace: '', name: `n${i}`, status: 200, reason: '', retryAfterSeconds: 0 },
      ...{ isFullList: false, fromVersion: '', hasPreconditions: false, sent: facts, received: facts },
    };
    log.add(record, record.verb === 'create' ? `/r/n${i}` : undefined);
  }
  t.ok(log.agents.size <= 200, 'clients');
  t.ok(log.objects.size <= 20_000, 'objects');
  t.ok(log.repeats.size <= 20_000, 'requests');
  t.ok(log.creations.size <= 20_000, 'creations');
});
