import { Registry } from 'prom-client';
import t from 'tap';
import type { Clock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { dealHand, flowHash } from '#apiserver/flowcontrol/hands.js';
import { QueueSet } from '#apiserver/flowcontrol/queue-set.js';
import { FlowControlSeries } from '#apiserver/flowcontrol/series.js';
import { SlowQueueSet, type SlowRequest } from '#apiserver/flowcontrol/testing/slow-queue-set.js';
import { Ticket } from '#apiserver/flowcontrol/ticket.js';
import { oneSeat, type Work, writeWork } from '#apiserver/flowcontrol/work.js';

/** Moves at once: no work waits between timers. */
class PromptClock implements Pick<Clock, 'monotonic' | 'setTimer'> {
  nowMs = 0;
  readonly #timers: { readonly dueMs: number; readonly fn: () => void }[] = [];

  monotonic(): number {
    return this.nowMs;
  }

  setTimer(fn: () => void, ms: number): { cancel(): void } {
    const timer = { dueMs: this.nowMs + ms, fn };
    this.#timers.push(timer);
    return { cancel: () => this.#timers.splice(this.#timers.indexOf(timer), 1) };
  }

  advance(toMs: number): void {
    for (;;) {
      const due = this.#timers.filter(({ dueMs }) => dueMs <= toMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (due === undefined) break;
      this.#timers.splice(this.#timers.indexOf(due), 1);
      this.nowMs = due.dueMs;
      due.fn();
    }
    this.nowMs = toMs;
  }
}

const info = { verb: 'get', path: '/', namespace: '', name: '', group: '', version: '', resource: '', subresource: '' };
const details = { user: { name: 'u' }, info };

function setup({ waitLimitMs = 1000, queues = 0, handSize = 1, queueLengthLimit = 2, limit = 1 } = {}) {
  const clock = new PromptClock();
  const registry = new Registry();
  const series = new FlowControlSeries(registry).level('level', 0);
  let idles = 0;
  const set = new QueueSet({ clock, series, waitLimitMs, idle: () => idles++ });
  set.configure(queues === 0 ? undefined : { queues, handSize, queueLengthLimit }, limit);
  const flow = series.flow('schema');
  const enter = (hand: readonly number[] = [0], work: Work = oneSeat) => {
    const ticket = new Ticket(flow, '', work, details);
    set.enter(ticket, hand);
    return ticket;
  };
  return { clock, registry, series, set, enter, idles: () => idles };
}

function sameState(fast: Ticket, slow: SlowRequest): boolean {
  const state = slow.state === 'lingering' ? 'over' : slow.state;
  return fast.state === state && (fast.refusal ?? '') === slow.refusal && (fast.queue?.index ?? -1) === slow.queue;
}

t.test('every decision is the one of the slow reference, on random requests', async (t) => {
  const outcomes = new Map<string, number>();
  for (let seed = 1; seed <= 60; seed++) {
    const random = seededRandom(seed);
    const upTo = (n: number) => Math.floor(random() * n);
    const shape = { queues: [0, 1, 4, 8][seed % 4] as number, queueLengthLimit: 1 + upTo(5), limit: 1 + upTo(12) };
    const waitLimitMs = 20 + upTo(200);
    const { clock, set, enter } = setup({ ...shape, waitLimitMs });
    const slow = new SlowQueueSet(waitLimitMs);
    slow.configure(shape.queues, shape.queueLengthLimit, shape.limit);
    const pairs: (readonly [Ticket, SlowRequest])[] = [];
    const pick = (state: Ticket['state']) => {
      const some = pairs.filter(([ticket]) => ticket.state === state);
      return some[upTo(some.length)];
    };
    for (let step = 0; step < 250; step++) {
      const toMs = clock.nowMs + (random() < 0.3 ? 0 : upTo(12));
      clock.advance(toMs);
      slow.advance(toMs);
      const choice = random();
      const executing = choice < 0.4 ? pick('executing') : undefined;
      const waiting = choice >= 0.4 && choice < 0.45 ? pick('waiting') : undefined;
      if (executing !== undefined) {
        set.finish(executing[0]);
        slow.finish(executing[1]);
      } else if (waiting !== undefined) {
        set.cancel(waiting[0]);
        slow.cancel(waiting[1]);
      } else if (choice > 0.98) {
        if (shape.queues > 0) shape.queues += upTo(2);
        shape.limit = 1 + upTo(12);
        shape.queueLengthLimit = 1 + upTo(5);
        set.configure(shape.queues === 0 ? undefined : { ...shape, handSize: 1 }, shape.limit);
        slow.configure(shape.queues, shape.queueLengthLimit, shape.limit);
      } else {
        const handSize = Math.min(shape.queues, 1 + upTo(3));
        const hand = shape.queues === 0 ? [] : dealHand(flowHash('s', String(upTo(6))), shape.queues, handSize);
        const wide = { initialSeats: 1 + upTo(4), finalSeats: upTo(8), lingerMs: upTo(2) === 0 ? 0 : upTo(20) };
        const work = [oneSeat, wide, writeWork(upTo(200))][upTo(3)] as Work;
        pairs.push([enter(hand, work), slow.enter(String(step), work, hand)]);
      }
      const differs = pairs.find(([a, b]) => !sameState(a, b));
      const counts = set.counts;
      const state = (name: string) => slow.requests.filter((each) => each.state === name).length;
      if (differs !== undefined || counts.waiting !== state('waiting') || counts.executing !== state('executing')) {
        t.fail(`seed ${seed}, step ${step}: ${JSON.stringify(differs?.[1])}`);
        return;
      }
    }
    for (const [{ state, refusal = state }] of pairs) outcomes.set(refusal, (outcomes.get(refusal) ?? 0) + 1);
  }
  for (const outcome of ['over', 'queue-full', 'concurrency-limit', 'time-out', 'cancelled'])
    t.ok((outcomes.get(outcome) ?? 0) > 50, `${outcome}: ${outcomes.get(outcome)}`);
});

t.test('without queues, requests beyond the limit are refused at once', async (t) => {
  const { set, enter } = setup({ limit: 2 });
  const [one, two, three] = [enter(), enter(), enter()];
  t.equal(one.state, 'executing', 'first');
  t.equal(two.state, 'executing', 'second');
  t.equal(three.refusal, 'concurrency-limit', 'third');
  set.finish(one);
  t.equal(enter().state, 'executing', 'a free seat is taken again');
});

t.test('queues fill up, and a flow with many requests does not delay another', async (t) => {
  const { clock, set, enter } = setup({ queues: 2, queueLengthLimit: 3, limit: 1 });
  const running = enter([0]);
  const noisy = [enter([0]), enter([0]), enter([0])];
  t.equal(enter([0]).refusal, 'queue-full', 'the queue of the noisy flow is full');
  const quiet = enter([1]);
  t.equal(quiet.state, 'waiting', 'the other queue has room');
  clock.advance(10);
  set.finish(running);
  t.equal(quiet.state, 'executing', 'the quiet flow is next, before older requests of the noisy one');
  t.strictSame(
    noisy.map(({ state }) => state),
    ['waiting', 'waiting', 'waiting'],
    'which still wait',
  );
});

t.test('a request that waited too long is refused when another one comes', async (t) => {
  const { clock, enter } = setup({ queues: 1, queueLengthLimit: 5, waitLimitMs: 15_000 });
  enter();
  const old = enter();
  let decisions = 0;
  old.decided = () => decisions++;
  clock.advance(15_000);
  t.equal(enter().state, 'waiting', 'the limit itself is not too long');
  t.equal(old.state, 'waiting', 'so the old one stays');
  clock.advance(15_001);
  enter();
  t.equal(old.refusal, 'time-out', 'refused');
  t.equal(decisions, 1, 'its owner learns it once');
});

t.test('a wide request waits for all seats that it needs, and gets all there are', async (t) => {
  const { set, enter } = setup({ queues: 1, queueLengthLimit: 5, limit: 3 });
  const first = enter();
  const wide = enter([0], { initialSeats: 10, finalSeats: 0, lingerMs: 0 });
  const narrow = enter();
  t.equal(wide.state, 'waiting', 'it wants more seats than there are, so it waits until none is taken');
  t.equal(narrow.state, 'waiting', 'no other request overtakes it');
  set.finish(first);
  t.equal(wide.state, 'executing', 'alone');
  t.equal(narrow.state, 'waiting', 'behind it');
});

t.test('the seats of a write stay taken for its events', async (t) => {
  const { clock, set, enter } = setup({ queues: 1, queueLengthLimit: 5, limit: 4 });
  const write = enter([0], { initialSeats: 1, finalSeats: 8, lingerMs: 5 });
  t.equal(set.counts.seatsInUse, 4, 'at most all seats');
  t.equal(write.lingerMs, 10, 'the same work on fewer seats takes longer');
  set.finish(write);
  t.equal(set.counts.executing, 0, 'it has its response');
  t.equal(set.counts.seatsInUse, 4, 'its seats are taken');
  const next = enter();
  t.equal(next.state, 'waiting', 'so the next one waits');
  clock.advance(10);
  t.equal(next.state, 'executing', 'until they are free');
});

t.test('surplus queues leave when they are empty, and the last end is reported', async (t) => {
  const { set, enter, idles } = setup({ queues: 4, queueLengthLimit: 5, limit: 10 });
  const tickets = [0, 1, 2, 3].map((queue) => enter([queue]));
  set.configure({ queues: 2, handSize: 1, queueLengthLimit: 5 }, 10);
  t.equal(set.queues.length, 4, 'they drain first');
  for (const ticket of tickets) set.finish(ticket);
  t.equal(set.queues.length, 2, 'two are left');
  t.strictSame(
    set.queues.map(({ index }) => index),
    [0, 1],
    'numbered anew',
  );
  t.equal(idles(), 1, 'idle once');
  t.ok(set.isIdle, 'nothing waits');
  const waiting = setup({ queues: 1, limit: 1 });
  const first = waiting.enter();
  const second = waiting.enter();
  waiting.set.configure(undefined, 1);
  t.equal(waiting.enter().refusal, 'concurrency-limit', 'a level without queues refuses');
  waiting.set.finish(first);
  t.equal(second.state, 'executing', 'but serves what still waits');
});

t.test('the series of 1.24 follow', async (t) => {
  const { clock, registry, set, enter } = setup({ queues: 1, queueLengthLimit: 1, limit: 1 });
  const first = enter();
  const second = enter();
  enter();
  clock.advance(5);
  const text = async () => (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#'));
  const flow = 'priority_level="level",flow_schema="schema"';
  const during = await text();
  for (const line of [
    `apiserver_flowcontrol_current_executing_requests{${flow}} 1`,
    `apiserver_flowcontrol_current_inqueue_requests{${flow}} 1`,
    `apiserver_flowcontrol_request_concurrency_in_use{${flow}} 1`,
    'apiserver_flowcontrol_request_concurrency_limit{priority_level="level"} 1',
    `apiserver_flowcontrol_rejected_requests_total{${flow},reason="queue-full"} 1`,
    `apiserver_flowcontrol_request_queue_length_after_enqueue_count{${flow}} 2`,
  ])
    t.ok(during.includes(line), line);
  set.cancel(second);
  set.finish(first);
  const after = await text();
  for (const line of [
    `apiserver_flowcontrol_current_executing_requests{${flow}} 0`,
    `apiserver_flowcontrol_current_inqueue_requests{${flow}} 0`,
    `apiserver_flowcontrol_rejected_requests_total{${flow},reason="cancelled"} 1`,
    'apiserver_flowcontrol_priority_level_request_count_samples_count{phase="executing",priority_level="level"} 5',
    'apiserver_flowcontrol_priority_level_request_count_watermarks_sum{mark="high",phase="executing",priority_level="level"} 5',
    'apiserver_flowcontrol_current_r{priority_level="level"} 0.005',
  ])
    t.ok(after.includes(line), line);
});
