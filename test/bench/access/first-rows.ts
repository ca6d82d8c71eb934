/** Rows of the first requests after a start, when most code is not compiled yet. */
import { apis, concurrency, type Field, load } from '#test/bench/access/field.js';
import {
  ask,
  ownPodBody,
  podName,
  podPath,
  podsPath,
  scratchPath,
  type Way,
  wayText,
} from '#test/bench/access/pods.js';
import { costFigures, type RowLimits } from '#test/bench/access/report.js';
import { type Cost, costFromFirst, inRounds, means } from '#test/bench/access/rounds.js';
import type { RunningServer } from '#test/bench/access/servers.js';
import { changedStatus, type PodObject } from '#test/bench/access/write-rows.js';

const verbs = ['create', 'get', 'get, resourceVersion=0', 'status, PUT', 'strategic merge patch'] as const;
type Verb = (typeof verbs)[number];

/** Requests per measurement. */
const limits: ReadonlyMap<number, RowLimits> = new Map([[1000, { peer: 0.55 }]]);
const chunk = 500;
const rounds = 3;

export interface FirstRows {
  /** Numbers of requests, multiples of 500; one row each. */
  readonly until: readonly number[];
  readonly over: readonly Way[];
  /** Restarts all servers and returns the new ones. */
  readonly restart: () => Promise<Field>;
}

/** Measures each verb and protocol on freshly started servers. All pods are different. */
export async function firstRows(field: Field, { until, over, restart }: FirstRows): Promise<void> {
  for (const verb of verbs) {
    for (const way of over) {
      const { values, ...counted } = await inRounds({ ...field, rounds }, async (round) => {
        const started = await restart();
        await load(started, 'pod', '/api/v1/namespaces/default');
        const operation = operationOf(started, verb, way, round);
        const works = [...apis(started), started.bare].map((server) => ({
          server,
          concurrency,
          operation: (n: number) => operation(server, n),
        }));
        const costs = await costFromFirst(works, chunk, until);
        if (verb === 'create') for (const server of apis(started)) await ask(server, 'DELETE', scratchPath);
        return costs;
      });
      for (const [i, requests] of until.entries()) {
        const ofRow = values.map((costs): readonly Cost[] => costs[i] ?? []);
        const figures = costFigures(means({ values: ofRow, ...counted }), field.peer !== undefined);
        const name = `${verb}, the first ${requests} after a start${wayText(way)}`;
        field.report.add({ name, unit: 'ms', ...figures, limits: limits.get(requests) ?? {}, rounds: counted });
      }
    }
  }
}

type Operation = (server: RunningServer, n: number) => Promise<unknown>;

/** Varies a request by `round`, since equal ones may be cached. */
function operationOf({ bare, pods }: Field, verb: Verb, way: Way, round: number): Operation {
  const path = (n: number) => podPath(n % pods);
  switch (verb) {
    case 'create':
      return (server, n) => {
        const to = server === bare ? `/create/pod?key=first/${way}/${round}/${n}` : scratchPath;
        return ask(server, 'POST', to, { body: ownPodBody(n, 'scratch'), way });
      };
    case 'get':
    case 'get, resourceVersion=0': {
      const query = verb === 'get' ? '' : '?resourceVersion=0';
      return (server, n) =>
        ask(server, 'GET', server === bare ? '/ready/pod' : `${path(n)}${query}`, { way, discard: true });
    }
    case 'status, PUT':
      return (server, n) => {
        const pod = JSON.parse(ownPodBody(n % pods)) as PodObject;
        const body = JSON.stringify({ ...pod, status: changedStatus(pod.status, n + 100_000 * round) });
        return server === bare
          ? ask(server, 'PUT', `/update/pod?key=first/${way}/${n % pods}`, { body, way })
          : ask(server, 'PUT', `${podsPath}/${podName(n % pods)}/status`, { body, way });
      };
    case 'strategic merge patch': {
      const headers = { 'content-type': 'application/strategic-merge-patch+json' };
      return (server, n) => {
        const annotations = { 'example.com/round': `${round}-${n}` };
        const body = JSON.stringify({ metadata: { annotations } });
        return server === bare
          ? ask(server, 'PUT', `/update/pod?key=first/${way}/${n % pods}`, { body, way })
          : ask(server, 'PATCH', path(n), { body, headers, way });
      };
    }
  }
}
