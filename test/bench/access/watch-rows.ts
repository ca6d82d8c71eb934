/** Rows of watches. */

import type { Arrivals } from '#test/bench/access/arrivals.js';
import { apis, type Field, load } from '#test/bench/access/field.js';
import { MultiplexedWatches } from '#test/bench/access/multiplexed.js';
import { ask, podName, podPath, podsPath, toucher } from '#test/bench/access/pods.js';
import { costFigures } from '#test/bench/access/report.js';
import { costPerOperation, type Work } from '#test/bench/access/rounds.js';
import type { RunningServer } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';

/** Suffix of a row's name. */
const wayTexts = { http1: '', http2: ', HTTP/2', multiplexed: ', 100 on a connection' };

/** How watches connect: one connection each, or many per HTTP/2 connection, as the informers of a process do. */
export type WatchWay = keyof typeof wayTexts;

const onOneConnection = 100;

interface OpenWatches {
  readonly arrivals: Arrivals;
  close(): void;
}

async function open(server: RunningServer, way: WatchWay, path: string, count: number): Promise<OpenWatches> {
  if (way !== 'multiplexed') return Watchers.open({ server, path, count, http2: way === 'http2' });
  const watches = new MultiplexedWatches(server);
  for (let left = count; left > 0; left -= onOneConnection) {
    await watches.open(Array.from({ length: Math.min(left, onOneConnection) }, () => path));
  }
  return watches;
}

/** CPU per event and watcher, with `count` watchers. */
export async function watchRow(field: Field, count: number, way: WatchWay): Promise<void> {
  const events = Math.max(20, Math.round(10_000 / count));
  const eventName = podName(0);
  const works: (Work & { done: () => Promise<void> })[] = [];
  await load(field, 'event', podPath(0));
  for (const server of [...apis(field), field.bare]) {
    const path =
      server === field.bare ? '/watch/event' : `${podsPath}?watch=true&resourceVersion=${await version(server)}`;
    const watchers = await open(server, way, path, count);
    const writer = await toucher(server, server.podKey(eventName));
    const before = watchers.arrivals.events;
    works.push({
      server,
      operations: events,
      // One event at a time, awaited by all watchers, so that batching saves nothing.
      operation: async (n) => {
        await writer.touch();
        await watchers.arrivals.reached(before + (n + 1) * count);
      },
      done: async () => {
        watchers.close();
        await writer.close();
      },
    });
  }
  const { costs, ...rounds } = await costPerOperation(works, field);
  for (const { done } of works) await done();
  const each = costs.map(({ server, etcd }) => ({ server: server / count, etcd: etcd / count }));
  field.report.add({
    name: `watch, ${count} watchers${wayTexts[way]}: each delivered event`,
    unit: 'ms',
    ...costFigures({ costs: each }, field.peer !== undefined),
    limits: { bare: 2, peer: 0.25 },
    rounds,
  });
}

/** The newest resource version of the pods. */
export async function version(server: RunningServer): Promise<string> {
  const { body } = await ask(server, 'GET', `${podsPath}?limit=1`);
  return (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}
