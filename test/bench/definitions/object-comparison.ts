/** Compares lists, gets and watches of custom objects with those of pods of the same size, in turns on one server. */
import { randomUUID } from 'node:crypto';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { encodeStored } from '#storage/layout.js';
import { ask, podBody, podName, podsPath, prepare, toucher } from '#test/bench/access/pods.js';
import { costPerOperation, type RoundsOptions, type Work } from '#test/bench/access/rounds.js';
import type { RunningServer } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';
import { inGroups } from '#test/bench/controllers/objects.js';
import { podLikeDefinition } from '#test/bench/definitions/definitions.js';
import { figure } from '#test/bench/report.js';

const group = 'bench.example.com';
const likenessesPath = `/apis/${group}/v1/namespaces/default/likenesss`;
const watcherCount = 100;
/** The maximum ratio to the cost of pods. */
const limit = 1.3;

interface Sort {
  readonly path: string;
  readonly key: (n: number) => string;
}

const sorts: readonly Sort[] = [
  { path: podsPath, key: (n) => `/registry/${pods.resource}/default/${podName(n)}` },
  { path: likenessesPath, key: (n) => `/registry/${group}/likenesss/default/${podName(n)}` },
];

/** Writes `count` pods and as many equal custom objects to the server's etcd. */
async function seed(server: RunningServer, count: number): Promise<void> {
  await prepare(server);
  const first = await ask(server, 'POST', podsPath, { body: podBody('first', 0) });
  await ask(server, 'DELETE', `${podsPath}/first`, { body: '{"gracePeriodSeconds":0}' });
  const { metadata, ...rest } = JSON.parse(first.body.toString()) as Pod;
  const { resourceVersion: _, ...common } = metadata;
  const store = new EtcdStore({ endpoints: [server.etcd.endpoint], clock, random: Math.random });
  await inGroups(count, async (n) => {
    const object = { ...rest, metadata: { ...common, name: podName(n), uid: randomUUID() } };
    const like = { ...object, apiVersion: `${group}/v1`, kind: 'Likeness' };
    for (const [i, one] of [object, like].entries()) await store.create(sorts[i]?.key(n) ?? '', encodeStored(one));
  });
  await store.close();
}

/** Prints the rows, and returns the names of rows over the limit. */
export async function likenessRows(server: RunningServer, count: number, options: RoundsOptions): Promise<string[]> {
  const { json } = podLikeDefinition(schemeFor(dialect));
  const definitions = `/apis/${dialect.groupName('apiextensions')}/v1/customresourcedefinitions`;
  await ask(server, 'POST', definitions, { body: json });
  await seed(server, count);
  while ((await server.http1.request('GET', `${likenessesPath}?limit=1`)).status !== 200) await clock.sleep(20);
  const over: string[] = [];
  const row = async (name: string, works: readonly Work[], each = 1) => {
    const { costs } = await costPerOperation(works, options);
    const [ofPods, ofOthers] = costs.map(({ server: ms }) => ms / each);
    if (ofPods === undefined || ofOthers === undefined) throw new Error(`${name}: not measured`);
    figure(`${name}: pods`, `${ofPods.toPrecision(3)} ms`);
    figure(`${name}: custom objects`, `${ofOthers.toPrecision(3)} ms`, `${(ofPods * limit).toPrecision(3)} ms`);
    if (ofOthers > ofPods * limit) over.push(name);
  };
  const asking = (query: (n: number) => string, operations: number, concurrency = 1): Work[] =>
    sorts.map(({ path }) => ({
      server,
      operations,
      concurrency,
      operation: (n) => ask(server, 'GET', `${path}${query(n)}`, { discard: true }),
    }));
  // Lists come first, because the first request starts the cache of custom objects.
  const lists = Math.max(2, Math.round(50_000 / count));
  await row(
    `list of ${count}, consistent`,
    asking(() => '', lists),
  );
  await row(
    `list of ${count}, resourceVersion=0`,
    asking(() => '?resourceVersion=0', lists),
  );
  await row(
    'list of 500',
    asking(() => '?limit=500', 100),
  );
  await row(
    'get',
    asking((n) => `/${podName(n % count)}`, 4000, 16),
  );
  await watchRow(server, row);
  return over;
}

async function watchRow(
  server: RunningServer,
  row: (name: string, works: readonly Work[], each: number) => Promise<void>,
): Promise<void> {
  const works: Work[] = [];
  const ends: (() => Promise<void>)[] = [];
  for (const { path, key } of sorts) {
    const { body } = await ask(server, 'GET', `${path}?limit=1`);
    const { metadata } = JSON.parse(body.toString()) as { metadata: { resourceVersion: string } };
    const watch = `${path}?watch=true&resourceVersion=${metadata.resourceVersion}`;
    const watchers = await Watchers.open({ server, path: watch, count: watcherCount });
    const writer = await toucher(server, key(0));
    let delivered = watchers.arrivals.events;
    works.push({
      server,
      operations: 100,
      operation: async () => {
        await writer.touch();
        delivered += watcherCount;
        await watchers.arrivals.reached(delivered);
      },
    });
    ends.push(async () => {
      watchers.close();
      await writer.close();
    });
  }
  await row(`watch, ${watcherCount} watchers: each delivered event`, works, watcherCount);
  for (const end of ends) await end();
}
