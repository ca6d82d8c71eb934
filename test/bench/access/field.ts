/** The servers that a row compares. */
import { type AskOptions, ask } from '#test/bench/access/pods.js';
import { costFigures, type Report, type RowLimits } from '#test/bench/access/report.js';
import { costPerOperation, type RoundsOptions, type Work } from '#test/bench/access/rounds.js';
import type { RunningServer } from '#test/bench/access/servers.js';

export interface Field extends RoundsOptions {
  readonly bare: RunningServer;
  readonly orch: RunningServer;
  readonly peer: RunningServer | undefined;
  readonly pods: number;
  readonly report: Report;
}

export type WorkOf = (server: RunningServer) => Omit<Work, 'server'>;

/** Concurrent requests, for rows with several. */
export const concurrency = 16;

export function apis({ orch, peer }: Pick<Field, 'orch' | 'peer'>): RunningServer[] {
  return peer === undefined ? [orch] : [orch, peer];
}

/** Measures our `api`, the peer's and `bare` in turns and adds the row; returns our CPU. */
export async function compare(
  field: Field,
  name: string,
  limits: RowLimits,
  works: { readonly bare?: Omit<Work, 'server'>; readonly api: WorkOf },
): Promise<number> {
  const list: Work[] = apis(field).map((server) => ({ server, ...works.api(server) }));
  if (works.bare !== undefined) list.push({ server: field.bare, ...works.bare });
  const { costs, ...rounds } = await costPerOperation(list, field);
  const figures = costFigures({ costs }, field.peer !== undefined);
  field.report.add({ name, unit: 'ms', ...figures, limits, rounds });
  return figures.figures.orch;
}

/** Copies our response to this request to the bare server. */
export async function load(
  field: Pick<Field, 'orch' | 'bare'>,
  name: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<void> {
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

export const get = (server: RunningServer, path: string, options: Pick<AskOptions, 'headers' | 'way'> = {}) =>
  ask(server, 'GET', path, { ...options, discard: true });
