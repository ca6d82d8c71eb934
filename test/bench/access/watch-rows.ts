/** Rows of what watchers get. */
import { apis, type Field, load } from '#test/bench/access/field.js';
import { ask, podName, podPath, podsPath, toucher } from '#test/bench/access/pods.js';
import { costFigures } from '#test/bench/access/report.js';
import { costPerOperation, type Work } from '#test/bench/access/rounds.js';
import type { RunningServer } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';

/** CPU for each event and watcher, of `count` watchers. */
export async function watchRow(field: Field, count: number, http2 = false): Promise<void> {
  const events = Math.max(20, Math.round(10_000 / count));
  const eventName = podName(0);
  const works: (Work & { done: () => Promise<void> })[] = [];
  await load(field, 'event', podPath(0));
  for (const server of [...apis(field), field.bare]) {
    const path =
      server === field.bare ? '/watch/event' : `${podsPath}?watch=true&resourceVersion=${await version(server)}`;
    const watchers = await Watchers.open({ server, path, count, http2 });
    const writer = await toucher(server, server.podKey(eventName));
    const before = watchers.events;
    works.push({
      server,
      operations: events,
      // One at a time, each awaited by all: nothing is spared by sending several at once.
      operation: async (n) => {
        await writer.touch();
        await watchers.reached(before + (n + 1) * count);
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
    name: `watch, ${count} watchers${http2 ? ', HTTP/2' : ''}: each delivered event`,
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
