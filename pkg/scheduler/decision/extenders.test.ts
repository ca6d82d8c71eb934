/** Messages from the refusals of extenders for many nodes stay bounded. */
import t from 'tap';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { filterByExtenders } from '#scheduler/decision/extenders.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import { readVerdict } from '#scheduler/extenders/answers.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import { clusterOf, node, pod } from '#scheduler/testing/plugin-table.js';

const nodes = clusterOf({ nodes: Array.from({ length: 500 }, (_, i) => node(`node-${i}`)) }).nodes();
const names = new Set(nodes.map(({ name }) => name));

/** The message of the pod's condition for these answers. */
async function messageFor(...answers: object[]): Promise<string> {
  const extenders = answers.map((answer, i) => ({
    name: `http://extender-${i}`,
    ignorable: false,
    isInterested: () => true,
    filter: () => Promise.resolve(readVerdict(answer, `http://extender-${i}`, names)),
    close: () => Promise.resolve(),
  }));
  const consultation = { extenders, stop: new AbortController().signal, onFailure: () => undefined };
  const { feasible, refusals } = await filterByExtenders(podInfo(pod({})), nodes, consultation);
  t.equal(feasible.length, 0);
  const counted = new Map<Refusal, number>();
  for (const refusal of refusals.values()) counted.set(refusal, (counted.get(refusal) ?? 0) + 1);
  return new FitError(nodes.length, counted).message;
}

const failed = (reason: (i: number) => string) => Object.fromEntries(nodes.map(({ name }, i) => [name, reason(i)]));

t.test('few reasons are reported unchanged', async (t) => {
  const answer = { FailedNodes: failed((i) => (i % 2 === 0 ? 'even' : 'odd')) };
  t.equal(await messageFor(answer), '0/500 nodes are available: 250 even, 250 odd.');
});

t.test('of many reasons the first are reported, the rest as a node count', async (t) => {
  const message = await messageFor({ FailedNodes: failed((i) => `number ${i} is unlucky`) });
  t.match(message, '1 number 15 is unlucky, ');
  t.notMatch(message, 'number 16');
  t.match(message, '484 node(s) refused by extender http://extender-0 for further reasons');
  t.match(
    await messageFor({ FailedAndUnresolvableNodes: failed((i) => `no ${i}`) }),
    '484 node(s) refused by extender',
  );
});

t.test('a reported reason keeps being counted', async (t) => {
  const message = await messageFor({ FailedNodes: failed((i) => (i < 100 ? `number ${i}` : 'number 3')) });
  t.match(message, '401 number 3,');
  t.match(message, '84 node(s) refused by extender http://extender-0 for further reasons');
});

t.test('messages are bounded to one line', async (t) => {
  const long = await messageFor({ FailedNodes: failed((i) => `${i}${'x'.repeat(1_000_000 / 500)}`) });
  t.ok(long.length < 8192, `${long.length} characters`);
  const answer = { FailedNodes: failed(() => 'a\nb\r\u001b[2J\u0000c\ud800') };
  t.equal(await messageFor(answer), '0/500 nodes are available: 500 a b [2J c\ufffd.');
});

t.test('node names that are special in JavaScript work', async (t) => {
  const answer = JSON.parse('{"FailedNodes": {"__proto__": "x", "constructor": "y", "node-0": "z"}}') as object;
  t.match(await messageFor(answer), '1 z, 499 node(s) left out by extender http://extender-0.');
});
