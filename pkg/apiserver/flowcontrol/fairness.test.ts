import { Registry } from 'prom-client';
import t from 'tap';
import type { FlowSchema } from '#api/flowcontrol/v1beta2/types.gen.js';
import type { Turns } from '#apimachinery/async/turn-queue.js';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { Fairness } from '#apiserver/flowcontrol/fairness.js';
import { AppliedSchema, PriorityLevel } from '#apiserver/flowcontrol/priority-level.js';
import { FlowControlSeries } from '#apiserver/flowcontrol/series.js';
import { WatchTracker } from '#apiserver/flowcontrol/watch-tracker.js';
import type { ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { requestInfo } from '#apiserver/http/request-info.js';
import type { Leave } from '#apiserver/pipeline/flow-control.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { PartsBody } from '#http/server/body.js';
import { ByteBudget } from '#http/server/byte-budget.js';

const all = { subjects: [{ kind: 'User', user: { name: '*' } }] };
const everything = {
  ...all,
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const headerNames = { schema: 's', level: 'l' };

/** One limited level, and the exempt one for root. */
function setup({
  limit = 1,
  queueLengthLimit = 5,
  turns,
}: {
  limit?: number;
  queueLengthLimit?: number;
  turns?: Turns;
} = {}) {
  const clock = new VirtualClock();
  const series = new FlowControlSeries(new Registry());
  const watches = new WatchTracker();
  const refused: string[] = [];
  const flow = new Fairness({
    clock,
    series,
    watches,
    stored: () => 450,
    watchStartMs: 60_000,
    refused: (side) => refused.push(side),
    ...(turns === undefined ? {} : { turns }),
  });
  const level = (name: string, shares: number | undefined) => {
    const queuing = { queues: 2, handSize: 1, queueLengthLimit };
    const configuration = { name, uid: `uid-${name}`, shares, queuing: shares === undefined ? undefined : queuing };
    const planned = { configuration, limit: shares === undefined ? undefined : limit, quiescing: false };
    const budget = new ByteBudget({ clock, bytes: 1000, maxWaiting: 1, maxWaitMs: 1 });
    const result = new PriorityLevel(planned, {
      clock,
      series: series.level(name, 0),
      waitLimitMs: 15_000,
      budget: shares === undefined ? undefined : budget,
      drained: () => undefined,
    });
    result.apply(planned);
    return result;
  };
  const limited = level('limited', 1);
  const schema = (name: string, user: string): FlowSchema => ({
    metadata: { name, uid: `uid-${name}` },
    spec: {
      priorityLevelConfiguration: { name: '' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [{ ...everything, subjects: [{ kind: 'User', user: { name: user } }] }],
    },
  });
  flow.apply([
    new AppliedSchema(schema('root', 'root'), level('exempt', undefined), headerNames),
    new AppliedSchema(schema('rest', '*'), limited, headerNames),
  ]);
  return { clock, flow, limited, watches, refused, counts: () => limited.queues?.counts };
}

function contextOf(method: string, url: string, name = 'jane', user?: UserInfo): RequestContext & { gone: LazyAbort } {
  const gone = new LazyAbort();
  return {
    gone,
    request: {
      method,
      url,
      headers: {},
      body: Buffer.alloc(0),
      remoteAddress: '',
      cancellation: gone,
      get signal() {
        return gone.signal;
      },
      ...(user === undefined ? {} : { user }),
    },
    info: requestInfo({ method, url }),
    user: { name, groups: [] },
    warnings: [],
    auditId: '',
    get signal() {
      return gone.signal;
    },
    cancellation: gone,
  };
}

/** Enters a request that need not wait. */
function begin(flow: Fairness, context: RequestContext, passesOn = false): Leave {
  const leave = flow.enter(context, passesOn);
  if (leave instanceof Promise) throw new TypeError('it waits');
  return leave;
}

const small = (): ApiResponse => ({ status: 200, headers: {}, body: Buffer.from('x') });
const large = (): ApiResponse & { body: PartsBody } => ({
  status: 200,
  headers: {},
  body: new PartsBody([Buffer.from('x')], {}),
});
const pod = '/api/v1/namespaces/default/pods/a';

t.test('seats go to requests in turn', async (t) => {
  const { flow, counts, refused } = setup({ queueLengthLimit: 1 });
  const first = begin(flow, contextOf('GET', pod));
  t.equal(counts()?.executing, 1, 'the first has the seat');
  const context = contextOf('GET', pod);
  const second = flow.enter(context, false);
  t.ok(second instanceof Promise, 'the second waits');
  t.strictSame(flow.waiting, { readOnly: 1, mutating: 0 }, 'as a reading request');
  t.strictSame({ ...context.responseHeaders }, { l: 'uid-limited', s: 'uid-rest' }, 'and knows its level');
  try {
    begin(flow, contextOf('POST', '/api/v1/namespaces/default/pods'));
    t.fail('the third is not refused');
  } catch (error) {
    t.match(statusOf(error), { code: 429, details: { retryAfterSeconds: 1 } }, 'the third is refused');
  }
  t.strictSame(refused, ['mutating'], 'and counted');
  first(small());
  const leave = await second;
  t.strictSame(flow.current, { readOnly: 1, mutating: 0 }, 'the second runs');
  leave();
  t.strictSame(counts(), { waiting: 0, executing: 0, seatsInUse: 0 }, 'all seats are free');
});

t.test('requests that have waited begin in turns', async (t) => {
  const line: (() => void)[] = [];
  const next = () => new Promise<void>((resolve) => void line.push(resolve));
  const { flow, counts } = setup({ turns: { pause: next, next } });
  const first = begin(flow, contextOf('GET', pod));
  t.equal(line.length, 0, 'a request that finds a seat begins at once');
  let begun = false;
  const second = Promise.resolve(flow.enter(contextOf('GET', pod), false)).then((leave) => {
    begun = true;
    return leave;
  });
  first(small());
  await new Promise(setImmediate);
  t.equal(counts()?.executing, 1, 'it has the seat');
  t.notOk(begun, 'and waits for its turn');
  line.shift()?.();
  (await second)(small());
  t.equal(counts()?.executing, 0);
});

t.test('a wait ends when the request is cancelled', async (t) => {
  const { flow, counts } = setup();
  begin(flow, contextOf('GET', pod));
  const context = contextOf('GET', pod);
  const waiting = flow.enter(context, false) as Promise<unknown>;
  context.gone.abort(new Error('gone'));
  await t.rejects(waiting, { message: /Too many requests/ }, 'as if refused');
  t.equal(counts()?.waiting, 0, 'it has left the queue');
  const dead = contextOf('GET', pod);
  dead.gone.abort(new Error('gone'));
  await t.rejects(flow.enter(dead, false) as Promise<unknown>, /Too many requests/, 'even if it never began');
});

t.test('who needs no seat', async (t) => {
  const { flow, counts } = setup();
  const daemon = { name: 'scheduler', groups: [] };
  begin(flow, contextOf('GET', pod, 'scheduler', daemon));
  begin(flow, contextOf('GET', pod, 'root'));
  begin(flow, contextOf('GET', `${pod}/log`));
  begin(flow, contextOf('POST', `${pod}/exec`));
  t.equal(counts()?.seatsInUse, 0, 'daemons of this process, the exempt level, and long-running requests');
  t.strictSame(flow.current, { readOnly: 1, mutating: 0 }, 'the exempt request is counted');
});

t.test('requests that other servers answer have a limit of their own', async (t) => {
  const { flow, counts, limited } = setup();
  const leave = begin(flow, contextOf('GET', pod), true);
  t.equal(counts()?.seatsInUse, 0, 'they take no seat');
  t.throws(() => begin(flow, contextOf('GET', pod), true), { message: /Too many requests/ }, 'the next is refused');
  leave(small());
  t.equal(limited.passedOn, 0, 'it is over');
});

t.test('a large response keeps its seats and memory until it is sent', async (t) => {
  const { clock, flow, counts, limited } = setup();
  const enter = (context: RequestContext) => begin(flow, context);
  const response = large();
  enter(contextOf('GET', '/api/v1/pods?limit=10'))(response);
  t.equal(counts()?.executing, 1, 'it is being sent');
  t.equal(response.budget, limited.budget, 'with the memory of its level');
  response.body.over();
  t.equal(counts()?.executing, 0, 'it is sent');
  const gone = contextOf('GET', '/api/v1/pods?limit=10');
  enter(gone)(large());
  gone.gone.abort(new Error('gone'));
  t.equal(counts()?.executing, 0, 'its client is gone');
  enter(contextOf('HEAD', '/api/v1/pods?limit=10'))(large());
  t.equal(counts()?.executing, 0, 'nothing but the head is sent');
  enter(contextOf('GET', '/api/v1/pods?limit=10'))(large());
  await clock.advance(4999);
  t.equal(counts()?.executing, 1, 'its client reads slowly');
  await clock.advance(1);
  t.equal(counts()?.executing, 0, 'but does not keep the seats for ever');
  const exempt = large();
  enter(contextOf('GET', '/api/v1/pods', 'root'))(exempt);
  t.equal(exempt.budget, undefined, 'an exempt one takes the memory of the server');
});

t.test('lists and writes take what they cost', async (t) => {
  const { clock, flow, counts, watches } = setup({ limit: 20 });
  const list = begin(flow, contextOf('GET', '/api/v1/pods?resourceVersion=0'));
  t.equal(counts()?.seatsInUse, 5, 'a seat for each hundred of 450 objects');
  list();
  const forget = Array.from({ length: 30 }, () => watches.add(contextOf('GET', '/api/v1/pods?watch=1').info));
  watches.add(contextOf('GET', '/api/v1/pods?watch=1&fieldSelector=spec.nodeName=n').info);
  watches.add(contextOf('GET', '/api/v1/namespaces/other/pods?watch=1').info);
  t.equal(
    watches.interested(contextOf('PUT', pod).info),
    30,
    'watches of the node and of another namespace do not count',
  );
  const write = begin(flow, contextOf('PUT', pod));
  t.equal(counts()?.seatsInUse, 3, 'a seat for each ten watches');
  write(small());
  t.strictSame(counts(), { waiting: 0, executing: 0, seatsInUse: 3 }, 'while the events are sent');
  await clock.advance(5);
  t.equal(counts()?.seatsInUse, 0, 'and no longer');
  for (const each of forget) each();
  t.equal(watches.interested(contextOf('PUT', pod).info), 0, 'the watches have ended');
});

t.test('a watch takes a seat until it has begun', async (t) => {
  const { clock, flow, counts, watches } = setup();
  const url = '/api/v1/namespaces/default/pods?watch=1';
  const start = () => {
    const context = contextOf('GET', url);
    const leave = begin(flow, context);
    const response = large();
    leave(response);
    return { context, response };
  };
  const first = start();
  t.equal(counts()?.executing, 1, 'it begins');
  first.context.initialized?.();
  t.equal(counts()?.executing, 0, 'it has begun');
  t.equal(watches.interested(contextOf('PUT', pod).info), 1, 'and counts for writes');
  first.response.body.over();
  t.equal(watches.interested(contextOf('PUT', pod).info), 0, 'until it ends');
  start().context.gone.abort(new Error('gone'));
  t.equal(counts()?.executing, 0, 'its client may leave at the begin');
  start();
  await clock.advance(60_000);
  t.equal(counts()?.executing, 0, 'a client that does not read keeps no seat');
  begin(flow, contextOf('GET', url))();
  t.equal(counts()?.executing, 0, 'nor does a watch that fails');
  t.equal(clock.pendingTimers, 0, 'no timer is left');
});
