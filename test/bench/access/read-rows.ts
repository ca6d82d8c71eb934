/** Rows of reads: single pods and lists. */
import { compare, concurrency, type Field, get, load, type WorkOf } from '#test/bench/access/field.js';
import { ask, podPath, podsPath, slots, touchAll, type Way, wayText } from '#test/bench/access/pods.js';
import type { RunningServer } from '#test/bench/access/servers.js';

const page = 500;
const protobuf = { accept: 'application/vnd.kubernetes.protobuf' };
const gzip = { 'accept-encoding': 'gzip' };
const getOfPeer = 0.2;
const listOfPeer = 0.08;

export async function getRows(field: Field, over: readonly Way[]): Promise<void> {
  await load(field, 'pod', podPath(0));
  const operations = 4000;
  for (const way of over) {
    const bare = { operations, concurrency, operation: () => get(field.bare, '/ready/pod', { way }) };
    const gets = (query: string): WorkOf => {
      const path = (n: number) => `${podPath(n % field.pods)}${query}`;
      return (server) => ({ operations, concurrency, operation: (n) => get(server, path(n), { way }) });
    };
    const recent = { bare, api: gets('') };
    await compare(field, `get, most recent${wayText(way)}`, { bare: 2.5, peer: getOfPeer }, recent);
    const any = { bare, api: gets('?resourceVersion=0') };
    await compare(field, `get, resourceVersion=0${wayText(way)}`, { bare: 2, peer: getOfPeer }, any);
  }
}

/** Lists per round: fewer if they are long or slow. */
function listsFor({ pods }: Field, server?: RunningServer): number {
  const lists = Math.max(2, Math.round(50_000 / pods));
  return server?.name === 'peer' ? Math.max(2, Math.round(lists / 4)) : lists;
}

/** Cost of the first of these rows. */
export async function listRows(field: Field, over: readonly Way[]): Promise<number> {
  const operations = listsFor(field);
  await load(field, 'list', `${podsPath}?resourceVersion=0`);
  const figures: number[] = [];
  for (const way of over) {
    const bare = { operations, operation: () => get(field.bare, '/ready/list', { way }) };
    const lists = (path: string): WorkOf => {
      return (server) => ({ operations: listsFor(field, server), operation: () => get(server, path, { way }) });
    };
    const limits = { bare: 1.3, peer: listOfPeer };
    const any = { bare, api: lists(`${podsPath}?resourceVersion=0`) };
    figures.push(await compare(field, `list of ${field.pods}, resourceVersion=0${wayText(way)}`, limits, any));
    const recent = { bare, api: lists(podsPath) };
    await compare(field, `list of ${field.pods}, consistent${wayText(way)}`, limits, recent);
  }
  return figures[0] ?? Number.NaN;
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
    { bare: 2, peer: listOfPeer },
    {
      bare: {
        operations,
        operation: async () => {
          for (let i = 0; i < pages; i++) await get(field.bare, '/ready/page');
        },
      },
      api: (server) => ({ operations: listsFor(field, server), operation: () => inPages(server) }),
    },
  );
}

export async function selectorRow(field: Field): Promise<number> {
  return compare(
    field,
    `1 % of ${field.pods} by label, consistent`,
    { most: field.pods / 1000, peer: listOfPeer },
    {
      api: (server) => ({
        operations: 4 * listsFor(field, server),
        operation: (n) => get(server, `${podsPath}?labelSelector=slot%3D${n % slots}`),
      }),
    },
  );
}

export async function representationRows(field: Field): Promise<void> {
  const operations = listsFor(field);
  const any = `${podsPath}?resourceVersion=0`;
  await load(field, 'protobuf', any, protobuf);
  const toProtobuf: WorkOf = (server) => ({
    operations: listsFor(field, server),
    operation: () => get(server, any, { headers: protobuf }),
  });
  await compare(
    field,
    `list of ${field.pods} as Protobuf`,
    { bare: 3 },
    { bare: { operations, operation: () => get(field.bare, '/ready/protobuf') }, api: toProtobuf },
  );
  await load(field, 'list', any);
  await compare(
    field,
    `list of ${field.pods}, gzip, everything new`,
    { bare: 1.2 },
    {
      bare: { operations: 1, operation: () => get(field.bare, '/gzip/list', { headers: gzip }) },
      api: (server) => ({
        operations: 1,
        operation: () => get(server, any, { headers: gzip }),
        tidy: () => touchAll(server),
      }),
    },
  );
  await compare(
    field,
    `list of ${field.pods}, gzip, again`,
    // Negligible next to zlib's time.
    { bare: 0.05 },
    {
      bare: { operations: 1, operation: () => get(field.bare, '/gzip/list', { headers: gzip }) },
      api: (server) => ({
        operations: 4 * listsFor(field, server),
        operation: () => get(server, any, { headers: gzip }),
      }),
    },
  );
}
