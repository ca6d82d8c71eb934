/** Spans of requests and their calls to etcd, as a collector receives them; and the behaviour without a collector. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { buildApiServer } from '#apiserver/build/build.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { OtlpTracer } from '#daemon/tracing/otlp-tracer.js';
import { generateRsaKey, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';
import { until } from '#test/integration/daemons/api.js';
import { startCollector } from '#test/integration/tracing/collector.js';

t.setTimeout(60_000);

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const root = { name: 'root', groups: [dialect.groups.masters, dialect.groups.authenticated] };

interface ServerInput {
  readonly endpoint: string;
  readonly etcd: string;
}

async function startServer(t: Pick<Test, 'teardown'>, { endpoint, etcd }: ServerInput): Promise<CompleteApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tracing-'));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const [version] = dialect.tracingConfigVersions;
  const config = `{apiVersion: ${version}, kind: TracingConfiguration, endpoint: '${endpoint}', samplingRatePerMillion: 1000000}`;
  const keys = await generateRsaKey();
  const argv = [
    `--etcd-servers=${etcd}`,
    '--secure-port=0',
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://test',
    `--service-account-signing-key-file=${await file('sa.key', privateKeyToPem(keys.privateKey))}`,
    `--service-account-key-file=${await file('sa.pub', publicKeyToPem(keys.publicKey))}`,
    '--service-cluster-ip-range=10.96.0.0/24',
    '--feature-gates=APIServerTracing=true',
    `--tracing-config-file=${await file('tracing.yaml', config)}`,
  ];
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new TypeError('no options');
  const api = await buildApiServer({ values: parsed.values, dialect, clock, log, random: Math.random });
  const work = api.start(new AbortController().signal);
  t.teardown(async () => {
    await api.close();
    await work;
    await rm(folder, { recursive: true });
  });
  await api.ready();
  return api;
}

async function create(
  api: CompleteApiServer,
  name: string,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return api.handler({
    method: 'POST',
    url: '/api/v1/namespaces/default/configmaps',
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify({ metadata: { name } })),
    user: root,
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  } as Parameters<CompleteApiServer['handler']>[0]);
}

const noEtcd = existsSync('/usr/bin/etcd') ? false : 'there is no etcd';

t.test('a request and what it asks etcd are of the trace of its client', { skip: noEtcd }, async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const collector = await startCollector();
  t.teardown(() => collector.close());
  const api = await startServer(t, { endpoint: collector.endpoint, etcd: etcd.endpoint });
  const response = await create(api, 'traced', { traceparent: `00-${traceId}-${parentId}-01` });
  t.equal(response.status, 201);
  const ofTrace = () => collector.spans.filter((span) => span.traceId === traceId);
  await until('spans arrive', async () => ofTrace().some(({ name }) => name === 'OrchAPI'));
  const server = ofTrace().find(({ name }) => name === 'OrchAPI');
  t.match(server, {
    service: 'orch-apiserver',
    kind: 2,
    parentId,
    failed: false,
    attributes: {
      'http.method': 'POST',
      'http.target': '/api/v1/namespaces/default/configmaps',
      'http.status_code': 201,
      'audit-id': response.headers['audit-id'],
    },
  });
  const write = ofTrace().find(({ name }) => name === 'etcdserverpb.KV/Txn');
  t.match(write, {
    kind: 3,
    parentId: server?.spanId,
    attributes: { 'rpc.system': 'grpc', 'rpc.service': 'etcdserverpb.KV', 'rpc.method': 'Txn' },
  });

  await t.test('a trace that its client does not keep is not kept here', async (t) => {
    const other = traceId.replace('0af', '1af');
    await create(api, 'unkept', { traceparent: `00-${other}-${parentId}-00` });
    await create(api, 'malformed', { traceparent: `00-${traceId}-${parentId}-01-more` });
    await until('the malformed one is a trace of its own', async () =>
      collector.spans.some(({ parentId, attributes }) => parentId === '' && attributes['http.status_code'] === 201),
    );
    t.notOk(collector.spans.some((span) => span.traceId === other));
  });
});

t.test('no call waits for a collector that is away or silent, and the span queue is bounded', async (t) => {
  const silent = await startCollector({ silent: true });
  t.teardown(() => silent.close());
  for (const endpoint of [`127.0.0.1:${await freePort()}`, silent.endpoint]) {
    const metrics = new Registry();
    const tracer = new OtlpTracer({ config: { endpoint, samplingRatio: 1 }, service: 's', log, metrics });
    const span = { name: 'n', attributes: {}, traceparent: undefined };
    const outcome = { attributes: {}, failed: false };
    for (let i = 0; i < 10_000; i++)
      tracer.serve(
        span,
        () => undefined,
        () => outcome,
      );
    t.match(await metrics.metrics(), /^tracing_spans_total\{result="dropped"\} [1-9]/m, 'what was dropped is counted');
    await t.rejects(
      Promise.resolve(
        tracer.serve(
          span,
          () => Promise.reject(new Error('mine')),
          () => outcome,
        ),
      ),
      /mine/,
    );
    t.throws(
      () =>
        tracer.serve(
          span,
          () => {
            throw new Error('mine');
          },
          () => outcome,
        ),
      /mine/,
    );
    const startedMs = clock.monotonic();
    await tracer.close();
    t.ok(clock.monotonic() - startedMs < 10_000, 'closing does not wait for it');
  }
});

t.test('what goes on after a piece of work has ended belongs to no span', async (t) => {
  const collector = await startCollector();
  t.teardown(() => collector.close());
  const tracer = new OtlpTracer({ config: { endpoint: collector.endpoint, samplingRatio: 1 }, service: 's', log });
  const call = () => tracer.call({ name: 'call', attributes: {} }, async (parent) => parent);
  const [first, second] = [tracer.begin('work', 'ns/a'), tracer.begin('other', 'ns/b')];
  let lateCall: Promise<string | undefined> | undefined;
  const goOn = deferred();
  t.type(
    await first?.within(() => {
      lateCall = goOn.promise.then(call);
      return call();
    }),
    'string',
  );
  await t.rejects(first?.part('part', () => Promise.reject(new Error('mine'))) ?? Promise.resolve(), /mine/);
  first?.took('step', 5, true);
  first?.within(() => tracer.annotate(() => ({ said: 'so' })));
  first?.end({ attributes: { result: 'done' }, failed: false });
  goOn.resolve();
  t.equal(await lateCall, undefined, 'while another is open');
  second?.end({ attributes: {}, failed: true, message: 'why' });
  t.equal(await call(), undefined);
  t.equal(tracer.traceparent(), undefined);
  await tracer.close();
  const spansOf = (name: string) => collector.spans.filter((span) => span.name === name);
  const [work] = spansOf('work');
  t.match(work, { parentId: '', failed: false, attributes: { result: 'done', said: 'so' } });
  t.match(spansOf('other'), [{ parentId: '', failed: true }]);
  const below = { parentId: work?.spanId, traceId: work?.traceId };
  t.match(spansOf('call'), [{ ...below, failed: false }]);
  t.match(spansOf('part'), [{ ...below, failed: true }]);
  t.match(spansOf('step'), [{ ...below, failed: true }]);
  t.equal(collector.spans.length, 5);
});

t.test('of a share of requests, which is none unless told', async (t) => {
  const tracer = new OtlpTracer({ config: { endpoint: '127.0.0.1:1', samplingRatio: 0 }, service: 's', log });
  t.teardown(() => tracer.close());
  t.equal(tracer.begin('work', 'ns/a'), undefined);
  const within = (traceparent: string | undefined) =>
    tracer.serve(
      { name: 'n', attributes: {}, traceparent },
      () => tracer.call({ name: 'c', attributes: {} }, async (parent) => parent),
      () => ({ attributes: {}, failed: false }),
    );
  t.equal(await within(undefined), undefined);
  t.equal(await within(`00-${traceId}-${parentId}-01`), undefined, 'a client cannot ask for it');
  t.equal(await tracer.call({ name: 'c', attributes: {} }, async (parent) => parent), undefined, 'without a request');
});
