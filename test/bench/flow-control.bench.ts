/**
 * What priority and fairness adds to a request, in microseconds of CPU: its own part of the pipeline with the default
 * flow schemas, for users of several of them, and for requests that are classified for the first time.
 *
 * `hack/bench.sh flow-control`
 */
import { Registry } from 'prom-client';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import { AppliedConfiguration } from '#apiserver/flowcontrol/applied-configuration.js';
import { Fairness } from '#apiserver/flowcontrol/fairness.js';
import { FlowControlSeries } from '#apiserver/flowcontrol/series.js';
import { WatchTracker } from '#apiserver/flowcontrol/watch-tracker.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { requestInfo } from '#apiserver/http/request-info.js';
import type { Follower } from '#apiserver/objects/object-reader.js';
import { figure } from '#test/bench/report.js';

const rounds = 200_000;
const limitUs = 15;

const series = new FlowControlSeries(new Registry());
const flow: Fairness = new Fairness({
  clock,
  series,
  watches: new WatchTracker(),
  stored: () => 5000,
  watchStartMs: 60_000,
  refused: () => undefined,
});
const applied = new AppliedConfiguration({
  dialect,
  clock,
  series,
  seats: 600,
  waitLimitMs: 15_000,
  applied: (schemas) => flow.apply(schemas),
  sample: () => undefined,
  responses: { bytes: 2 ** 28, maxWaiting: 100, maxWaitMs: 10_000 },
});
const ended = new AbortController();
const objects: readonly object[][] = [bootstrapFlowSchemas(dialect), bootstrapPriorityLevels(dialect)];
let next = 0;
const follow = (_type: unknown, follower: Follower<never>) => {
  follower.replaced?.((objects[next++] ?? []) as never[]);
  return Promise.resolve();
};
void applied.follow({ follow } as unknown as Parameters<AppliedConfiguration['follow']>[0], ended.signal);

function contextOf(method: string, url: string, user: UserInfo): RequestContext {
  const gone = new LazyAbort();
  const request = { method, url, headers: {}, body: Buffer.alloc(0), remoteAddress: '', cancellation: gone };
  return {
    request: { ...request, signal: new AbortController().signal },
    info: requestInfo({ method, url }),
    user,
    warnings: [],
    auditId: '',
    signal: new AbortController().signal,
    cancellation: gone,
  };
}

function measured(name: string, contexts: readonly RequestContext[]): void {
  const response = { status: 200, headers: {}, body: Buffer.alloc(0) };
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      const leave = flow.enter(contexts[i % contexts.length] as RequestContext, false);
      if (leave instanceof Promise) throw new TypeError('it waits');
      leave(response);
    }
  };
  run(rounds / 4);
  const before = process.cpuUsage();
  run(rounds);
  const { user, system } = process.cpuUsage(before);
  figure(name, `${((user + system) / rounds).toFixed(2)} µs`, `${limitUs} µs`);
}

const groups = [dialect.groups.authenticated];
const pod = '/api/v1/namespaces/default/pods/web-1';
const users = {
  administrator: { name: 'root', groups: [dialect.groups.masters, ...groups] },
  node: { name: 'system:node:n1', groups: [dialect.groups.nodes, ...groups] },
  'service account': { name: 'system:serviceaccount:web:app', groups: [dialect.groups.serviceAccounts, ...groups] },
  user: { name: 'jane', groups },
};
for (const [name, user] of Object.entries(users)) measured(`get of a pod, ${name}`, [contextOf('GET', pod, user)]);
const strangers = Array.from({ length: 5000 }, (_, i) => contextOf('GET', pod, { ...users.user, name: `user-${i}` }));
measured('get of a pod, 5,000 users in turns', strangers);
measured(
  'get of a pod, a user of each request',
  Array.from({ length: rounds + rounds / 4 }, () => contextOf('GET', pod, { ...users.user })),
);
measured('list of 5,000 pods, user', [contextOf('GET', '/api/v1/pods?resourceVersion=0', users.user)]);
measured('update of a pod, node', [contextOf('PUT', pod, users.node)]);
ended.abort();
