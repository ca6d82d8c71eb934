/**
 * Several clients send random requests for the same few objects to two API servers on one etcd. Each round of concurrent requests
 * must have an order in which a small model gives the same responses. At the end, watches of both servers must have reported the
 * same history, and every list must equal the state of its version.
 *
 *     node dist/test/integration/apiserver/model/model.test.js operations=100000 seed=7
 */

import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { checkLists, checkOrder, type SeenList, selected } from '#test/integration/apiserver/model/history.js';
import { type Operation, randomOperation, unknownVersion } from '#test/integration/apiserver/model/operations.js';
import type { State } from '#test/integration/apiserver/model/state.js';
import {
  configMapSubject,
  customSubject,
  defineThings,
  type Subject,
} from '#test/integration/apiserver/model/subject.js';
import {
  type Response,
  type SpecClient,
  serveOver,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const argument = (name: string, otherwise: number): number =>
  Number(process.argv.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? otherwise);

const operations = argument('operations', 10_000);
const seed = argument('seed', Math.floor(Math.random() * 2 ** 31));
const clientsPerServer = 2;
const names = ['a', 'b', 'c', 'd', 'e', 'f'];

interface Done {
  readonly operation: Operation;
  readonly answer: Response;
}

/** The state after an order of operations that explains every response; undefined if there is none. */
function explain(state: State, done: readonly Done[]): State | undefined {
  if (done.length === 0) return state;
  for (const [i, { operation, answer }] of done.entries()) {
    const next = operation.after(state, answer);
    if (next === undefined) continue;
    const end = explain(next, [...done.slice(0, i), ...done.slice(i + 1)]);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** Reads the versions that no response contained. */
async function learned(client: SpecClient, path: string, state: State): Promise<State> {
  const next = new Map(state);
  for (const [name, thing] of state) {
    if (thing.version !== unknownVersion) continue;
    const { json } = await client.get(`${path}/${name}`);
    next.set(name, { ...thing, version: json.metadata.resourceVersion });
  }
  return next;
}

const patienceMs = 3_600_000;
t.setTimeout(patienceMs);

t.test(`random operations, seed ${seed}`, { ...withEtcd, timeout: patienceMs }, async (t) => {
  const { client: first, etcd } = await startSpec(t);
  const { client: second } = await serveOver(t, etcd);
  const servers = [first, second];
  await t.test('on config maps', (t) => play(t, servers, configMapSubject, operations));
  await defineThings(first);
  for (const client of servers) await served(client, customSubject.path);
  await t.test('on a custom resource', (t) => play(t, servers, customSubject, operations / 5));
});

async function served(client: SpecClient, path: string): Promise<void> {
  while ((await client.get(path)).status !== 200) await setTimeout(10);
}

async function play(t: Test, servers: readonly SpecClient[], subject: Subject, operations: number): Promise<void> {
  const [first, second] = servers as [SpecClient, SpecClient];
  const { path } = subject;
  t.comment(`seed=${seed} operations=${operations}`);
  const start = (await first.get(path)).json.metadata.resourceVersion;
  const watches = await Promise.all(
    servers.map((client) => client.watch(t, `${path}?watch=1&resourceVersion=${start}`)),
  );
  const selecting = await second.watch(t, `${path}?watch=1&resourceVersion=${start}&labelSelector=tier=a`);

  const random = seededRandom(seed);
  const lists: SeenList[] = [];
  let state: State = new Map();
  for (let count = 0, round = 0; count < operations; round += 1) {
    const targets = [...names, ...[...state.keys()].filter((name) => name.startsWith('g-'))];
    const chosen: { operation: Operation; client: SpecClient }[] = [];
    for (const [i, client] of servers.entries()) {
      for (let j = 0; j < clientsPerServer; j += 1) {
        const manager = `c${i}${j}`;
        chosen.push({ operation: randomOperation({ random, state, names: targets, manager, subject }), client });
      }
    }
    const lonely = chosen.find(({ operation }) => operation.alone === true);
    const now = lonely === undefined ? chosen : [lonely];
    const done = await Promise.all(
      now.map(async ({ operation, client }) => ({ operation, answer: await operation.run(client) })),
    );
    count += done.length;
    const next = explain(state, done);
    if (next === undefined) {
      const transcript = done.map(({ operation, answer }) => `${operation.text}\n  → ${answer.status} ${answer.text}`);
      const before = [...state].map(([name, { owners, ...thing }]) => {
        const owned = [...owners].map(([field, who]) => `${field}: ${[...who].join(' ')}`);
        return `${name} ${JSON.stringify(thing)} ${owned.join(', ')}`;
      });
      t.fail(`seed ${seed}, round ${round}: no order explains the answers`, { transcript, before });
      return;
    }
    for (const { operation, answer } of done) {
      if (!operation.text.startsWith('list')) continue;
      const selector = /tier%20in%20\((.)\)/.exec(operation.text)?.[1];
      const { items, metadata } = answer.json;
      lists.push({ version: metadata.resourceVersion, selector, items, text: operation.text });
    }
    state = await learned(first, path, next);
  }

  const end = (await first.get(path)).json;
  lists.push({ version: end.metadata.resourceVersion, selector: undefined, items: end.items, text: 'the end' });
  const { kind, apiVersion } = subject;
  const last = (await first.post(path, { kind, apiVersion, metadata: { name: 'z-last', labels: { tier: 'a' } } })).json;
  for (const watch of [...watches, selecting]) {
    let count = 0;
    while (watch.events.at(-1)?.object.metadata.uid !== last.metadata.uid) {
      count += 1;
      await watch.until(Math.max(count, watch.events.length + 1));
    }
  }
  const [one, other] = watches.map(({ events }) => events);
  t.ok(one !== undefined && isDeepStrictEqual(one, other), 'both servers report the same history');
  t.doesNotThrow(() => checkOrder(one ?? []), 'versions grow, and types fit');
  t.doesNotThrow(() => checkLists(one ?? [], lists, subject.wholeItems), 'every list is the state of its version');
  t.same(
    selecting.events.map(({ type, object }) => `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`),
    selected(one ?? [], 'a'),
    'a selecting watch tells what starts and stops to match',
  );
  t.comment(`${one?.length} changes, ${lists.length} lists`);
}
