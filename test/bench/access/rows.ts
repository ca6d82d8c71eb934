/** The rows of the table: each measures the same work on the bare server, on ours and on the peer. */
import { cpuInAll, cpuPerOperation, ms, type Work } from '#test/bench/access/measure.js';
import {
  ask,
  podBody,
  podName,
  podPath,
  podsPath,
  scratchPath,
  slots,
  touchAll,
  toucher,
} from '#test/bench/access/pods.js';
import { type RowLimits, row } from '#test/bench/access/report.js';
import type { RunningServer } from '#test/bench/access/servers.js';
import { Watchers } from '#test/bench/access/watchers.js';

export interface Field {
  readonly bare: RunningServer;
  readonly orch: RunningServer;
  readonly peer: RunningServer | undefined;
  readonly pods: number;
  readonly rounds: number;
}

type WorkOf = (server: RunningServer) => Omit<Work, 'server'>;

const concurrency = 16;
const page = 500;
const protobuf = { accept: 'application/vnd.kubernetes.protobuf' };
const gzip = { 'accept-encoding': 'gzip' };

function apis({ orch, peer }: Field): RunningServer[] {
  return peer === undefined ? [orch] : [orch, peer];
}

/** Measures `bare` and `api` by turns and prints the row; the figure of ours comes back. */
async function compare(
  field: Field,
  name: string,
  limits: RowLimits,
  works: { readonly bare?: Omit<Work, 'server'>; readonly api: WorkOf },
): Promise<number> {
  const list: Work[] = apis(field).map((server) => ({ server, ...works.api(server) }));
  if (works.bare !== undefined) list.push({ server: field.bare, ...works.bare });
  const figures = await cpuPerOperation(list, field.rounds);
  const orch = figures[0] ?? 0;
  row(
    name,
    {
      orch,
      ...(field.peer === undefined ? {} : { peer: figures[1] ?? 0 }),
      ...(works.bare === undefined ? {} : { bare: figures.at(-1) ?? 0 }),
    },
    limits,
  );
  return orch;
}

/** Gives the bare server what ours answers to that request. */
async function load(field: Field, name: string, path: string, headers: Record<string, string> = {}): Promise<void> {
  const { body, headers: received } = await ask(field.orch, 'GET', path, { headers });
  const encoding = received['content-encoding'];
  await ask(field.bare, 'POST', `/load/${name}`, {
    body,
    headers: {
      'content-type': String(received['content-type']),
      ...(encoding === undefined ? {} : { 'content-encoding': String(encoding) }),
    },
  });
}

const get = (server: RunningServer, path: string, headers: Record<string, string> = {}) =>
  ask(server, 'GET', path, { headers, discard: true });

export async function createRow(field: Field): Promise<number> {
  await load(field, 'pod', podPath(0));
  const operations = 1000;
  return compare(
    field,
    'create',
    { ratio: 2.5, peer: 1 / 4 },
    {
      bare: {
        operations,
        concurrency,
        operation: (n) =>
          ask(field.bare, 'POST', `/create/pod?key=new/${n}`, { body: podBody(podName(n), n, 'scratch') }),
      },
      api: (server) => ({
        operations,
        concurrency,
        operation: (n) => ask(server, 'POST', scratchPath, { body: podBody(podName(n), n, 'scratch') }),
        tidy: () => ask(server, 'DELETE', scratchPath),
      }),
    },
  );
}

const firstCreates = 6000;

/** What a server takes for its first creates, of which most of the code is not compiled yet. All servers have just begun. */
export async function firstCreatesRow(field: Field): Promise<void> {
  await load(field, 'pod', '/api/v1/namespaces/default');
  const create = (server: RunningServer, n: number) => {
    const path = server === field.bare ? `/create/pod?key=first/${n}` : scratchPath;
    return ask(server, 'POST', path, { body: podBody(podName(n), n, 'scratch') });
  };
  const figures = await cpuInAll(
    [...apis(field), field.bare].map((server) => ({
      server,
      operations: firstCreates,
      concurrency,
      operation: (n) => create(server, n),
    })),
  );
  const peer = field.peer === undefined ? {} : { peer: figures[1] ?? 0 };
  const name = `create, the first ${firstCreates} after a start`;
  row(name, { orch: figures[0] ?? 0, ...peer, bare: figures.at(-1) ?? 0 }, { ratio: 2.7 });
}

export async function getRows(field: Field): Promise<void> {
  await load(field, 'pod', podPath(0));
  const operations = 4000;
  const path = (n: number) => podPath(n % field.pods);
  const bare = { operations, concurrency, operation: () => get(field.bare, '/ready/pod') };
  await compare(
    field,
    'get, most recent',
    { ratio: 2.5, peer: 1 / 5 },
    {
      bare,
      api: (server) => ({ operations, concurrency, operation: (n) => get(server, path(n)) }),
    },
  );
  await compare(
    field,
    'get, resourceVersion=0',
    { ratio: 2, peer: 1 / 5 },
    {
      bare,
      api: (server) => ({ operations, concurrency, operation: (n) => get(server, `${path(n)}?resourceVersion=0`) }),
    },
  );
  const over2 = (server: RunningServer, at: string) => server.http2.request('GET', at, { discard: true });
  await compare(
    field,
    'get, resourceVersion=0, over HTTP/2',
    { ratio: 2, peer: 1 / 5 },
    {
      bare: { operations, concurrency, operation: () => over2(field.bare, '/ready/pod') },
      api: (server) => ({ operations, concurrency, operation: (n) => over2(server, `${path(n)}?resourceVersion=0`) }),
    },
  );
}

/** How many lists one round has: fewer when they are long. */
const listsFor = ({ pods }: Field): number => Math.max(2, Math.round(50_000 / pods));

export async function listRows(field: Field): Promise<number> {
  const operations = listsFor(field);
  await load(field, 'list', `${podsPath}?resourceVersion=0`);
  const bare = { operations, operation: () => get(field.bare, '/ready/list') };
  const any = await compare(
    field,
    `list of ${field.pods}, resourceVersion=0`,
    { ratio: 1.3, peer: 1 / 20 },
    {
      bare,
      api: (server) => ({ operations, operation: () => get(server, `${podsPath}?resourceVersion=0`) }),
    },
  );
  await compare(
    field,
    `list of ${field.pods}, consistent`,
    { ratio: 1.3, peer: 1 / 20 },
    {
      bare,
      api: (server) => ({ operations, operation: () => get(server, podsPath) }),
    },
  );
  return any;
}

export async function pagesRow(field: Field): Promise<number> {
  const pages = Math.ceil(field.pods / page);
  await load(field, 'page', `${podsPath}?limit=${page}`);
  const operations = listsFor(field);
  const inPages = async (server: RunningServer) => {
    let token = '';
    do {
      const { body } = await ask(server, 'GET', `${podsPath}?limit=${page}${token}`);
      const next = /"continue":"([^"]+)"/.exec(body.subarray(0, 1000).toString('latin1'));
      token = next === null ? '' : `&continue=${next[1]}`;
    } while (token !== '');
  };
  return compare(
    field,
    `list of ${field.pods} in pages of ${page}`,
    { ratio: 2, peer: 1 / 15 },
    {
      bare: {
        operations,
        operation: async () => {
          for (let i = 0; i < pages; i++) await get(field.bare, '/ready/page');
        },
      },
      api: (server) => ({ operations, operation: () => inPages(server) }),
    },
  );
}

export async function selectorRow(field: Field): Promise<number> {
  return compare(
    field,
    `1 % of ${field.pods} by label, consistent`,
    { ms: field.pods / 1000, peer: 1 / 100 },
    {
      api: (server) => ({
        operations: 200,
        operation: (n) => get(server, `${podsPath}?labelSelector=slot%3D${n % slots}`),
      }),
    },
  );
}

export async function representationRows(field: Field): Promise<void> {
  const operations = listsFor(field);
  const any = `${podsPath}?resourceVersion=0`;
  await load(field, 'protobuf', any, protobuf);
  const toProtobuf: WorkOf = (server) => ({ operations, operation: () => get(server, any, protobuf) });
  await compare(
    field,
    `list of ${field.pods} as Protobuf`,
    { ratio: 3, peer: 1 / 10 },
    {
      bare: { operations, operation: () => get(field.bare, '/ready/protobuf') },
      api: toProtobuf,
    },
  );
  await load(field, 'list', any);
  await compare(
    field,
    `list of ${field.pods}, gzip, everything new`,
    { ratio: 1.2, peer: 1 / 5 },
    {
      bare: { operations: 1, operation: () => get(field.bare, '/gzip/list', gzip) },
      api: (server) => ({
        operations: 1,
        operation: () => get(server, any, gzip),
        tidy: () => touchAll(server),
      }),
    },
  );
  await compare(
    field,
    `list of ${field.pods}, gzip, again`,
    // Next to zlib's own time: nothing.
    { ratio: 0.05, peer: 1 / 5 },
    {
      bare: { operations: 1, operation: () => get(field.bare, '/gzip/list', gzip) },
      api: (server) => ({ operations: operations * 4, operation: () => get(server, any, gzip) }),
    },
  );
}

export async function updateRows(field: Field): Promise<void> {
  await load(field, 'pod', podPath(0));
  const operations = 1000;
  const { body } = await ask(field.orch, 'GET', podPath(0));
  const pod = JSON.parse(body.toString()) as { metadata: Record<string, unknown>; status: object };
  const statusBody = (n: number) => {
    const name = podName(n % field.pods);
    const { resourceVersion: _version, uid: _uid, creationTimestamp: _created, ...metadata } = pod.metadata;
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Bench', message: `round ${n}` }];
    return JSON.stringify({ ...pod, metadata: { ...metadata, name }, status: { ...pod.status, conditions } });
  };
  const bare = (bodyOf: (n: number) => string) => ({
    operations,
    concurrency,
    operation: (n: number) => ask(field.bare, 'PUT', `/update/pod?key=old/${n % field.pods}`, { body: bodyOf(n) }),
  });
  await compare(
    field,
    'status update',
    { ratio: 3, peer: 1 / 5 },
    {
      bare: bare(statusBody),
      api: (server) => ({
        operations,
        concurrency,
        operation: (n) => ask(server, 'PUT', `${podPath(n % field.pods)}/status`, { body: statusBody(n) }),
      }),
    },
  );
  const patchBody = (n: number) => JSON.stringify({ metadata: { annotations: { 'example.com/round': String(n) } } });
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  await compare(
    field,
    'strategic merge patch',
    { ratio: 3, peer: 1 / 5 },
    {
      bare: bare(patchBody),
      api: (server) => ({
        operations,
        concurrency,
        operation: (n) => ask(server, 'PATCH', podPath(n % field.pods), { body: patchBody(n), headers }),
      }),
    },
  );
}

export async function watchRow(field: Field, count: number, http2 = false): Promise<void> {
  const events = Math.max(20, Math.round(10_000 / count));
  const eventName = podName(0);
  const works: (Omit<Work, 'server'> & { server: RunningServer; done: () => Promise<void> })[] = [];
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
  const figures = (await cpuPerOperation(works, field.rounds)).map((figure) => figure / count);
  for (const { done } of works) await done();
  const name = `watch, ${count} watchers${http2 ? ', HTTP/2' : ''}: each delivered event`;
  const peer = field.peer === undefined ? {} : { peer: figures[1] ?? 0 };
  row(name, { orch: figures[0] ?? 0, ...peer, bare: figures.at(-1) ?? 0 }, { ratio: 2, peer: 1 / 20 }, (value) =>
    value >= 1 ? ms(value) : `${(value * 1000).toFixed(1)} µs`,
  );
}

/** The newest resource version of the pods. */
export async function version(server: RunningServer): Promise<string> {
  const { body } = await ask(server, 'GET', `${podsPath}?limit=1`);
  return (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}
