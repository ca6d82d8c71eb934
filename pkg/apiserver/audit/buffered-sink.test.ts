import { Registry } from 'prom-client';
import t from 'tap';
import { BufferedSink, type BufferOptions } from '#apiserver/audit/buffered-sink.js';
import { AuditEvent, legacyLine } from '#apiserver/audit/event.js';
import { AuditMetrics } from '#apiserver/audit/metrics.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';

const event = (auditID: string) =>
  new AuditEvent('audit/v1', {
    level: 'Metadata',
    auditID,
    stage: 'ResponseComplete',
    requestURI: '/x',
    verb: 'get',
    user: { name: 'alice', groups: ['a', 'b'] },
    impersonatedUser: undefined,
    sourceIPs: ['10.0.0.1'],
    userAgent: 'me',
    objectRef: undefined,
    responseStatus: { metadata: {}, code: 200 },
    requestObject: undefined,
    responseObject: undefined,
    receivedMs: 0,
    stageMs: 0,
    annotations: {},
  });

function setUp(options: Partial<BufferOptions> = {}) {
  const clock = new VirtualClock();
  const registry = new Registry();
  const batches: string[][] = [];
  let release: (() => void) | undefined;
  const sink = {
    holds: false,
    async writeAll(events: readonly AuditEvent[]) {
      batches.push(events.map(({ facts }) => facts.auditID));
      if (sink.holds) await new Promise<void>((resolve) => (release = resolve));
    },
    close: () => Promise.resolve(),
  };
  const buffered = new BufferedSink({
    bufferSize: 4,
    maxBatchSize: 2,
    maxWaitMs: 1000,
    parallel: 1,
    ...options,
    sink,
    metrics: new AuditMetrics(registry),
    clock,
    log,
  });
  return { clock, registry, batches, sink, buffered, release: () => release?.() };
}

t.test('a batch is written when it is full or has waited long enough', async (t) => {
  const { buffered, batches, clock } = setUp();
  for (const id of ['a', 'b', 'c']) buffered.write(event(id));
  await new Promise(setImmediate);
  t.same(batches, [['a', 'b'], ['c']].slice(0, batches.length), 'in order');
  await clock.advance(1000);
  await buffered.close();
  t.same(batches.flat(), ['a', 'b', 'c']);
});

t.test('events beyond the buffer are lost and counted', async (t) => {
  const { buffered, batches, sink, registry, release } = setUp();
  sink.holds = true;
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) buffered.write(event(id));
  await new Promise(setImmediate);
  t.same(batches, [['a', 'b']]);
  t.match(await registry.metrics(), /apiserver_audit_error_total\{plugin="buffered"\} 1\n/);
  sink.holds = false;
  release();
  await buffered.close();
  t.same(batches.flat(), ['a', 'b', 'c', 'd', 'e', 'f']);
});

t.test('the legacy format', async (t) => {
  t.equal(
    legacyLine(event('id')),
    '1970-01-01T00:00:00.000000Z AUDIT: id="id" stage="ResponseComplete" ip="10.0.0.1" method="get" user="alice" groups="a","b" as="<self>" asgroups=<lookup> user-agent="me" namespace="<none>" uri="/x" response="200"',
  );
});
