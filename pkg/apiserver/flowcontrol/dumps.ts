/** `/debug/api_priority_and_fairness/…`: the levels, queues and waiting requests of this server, as 1.24 prints them. */
import type { Clock } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import type { PriorityLevel } from '#apiserver/flowcontrol/priority-level.js';
import type { Ticket } from '#apiserver/flowcontrol/ticket.js';
import { formatWork } from '#apiserver/flowcontrol/work.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';

export interface DumpOptions {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly levels: () => Iterable<PriorityLevel>;
}

const root = '/debug/api_priority_and_fairness';
const none = '<none>';
const textHeaders = { 'content-type': 'text/plain; charset=utf-8' };

/** The handlers by path. */
export function flowControlDumps(
  options: DumpOptions,
): Readonly<Record<string, (context: RequestContext) => Promise<ApiResponse>>> {
  const levels = () => [...options.levels()].sort((a, b) => (a.configuration.name < b.configuration.name ? -1 : 1));
  const answer = (rows: readonly (readonly string[])[]) =>
    Promise.resolve({ status: 200, headers: { ...textHeaders }, body: Buffer.from(aligned(rows)) });
  return {
    [`${root}/dump_priority_levels`]: () => answer(levelRows(levels())),
    [`${root}/dump_queues`]: () => answer(queueRows(levels())),
    [`${root}/dump_requests`]: ({ info }) =>
      answer(requestRows(levels(), options.clock, (info.query.get('includeRequestDetails') ?? '') !== '')),
  };
}

function levelRows(levels: readonly PriorityLevel[]): string[][] {
  const head = ['PriorityLevelName', 'ActiveQueues', 'IsIdle', 'IsQuiescing', 'WaitingRequests', 'ExecutingRequests'];
  const rows = levels.map(({ configuration: { name }, queues, quiescing }) => {
    if (queues === undefined) return [name, ...head.slice(1).map(() => none)];
    const active = queues.queues.filter(({ waiting }) => waiting.size > 0).length;
    const { waiting, executing } = queues.counts;
    return [name, String(active), String(queues.isIdle), String(quiescing), String(waiting), String(executing)];
  });
  return [head, ...rows];
}

function queueRows(levels: readonly PriorityLevel[]): string[][] {
  const head = [
    ...['PriorityLevelName', 'Index', 'PendingRequests', 'ExecutingRequests', 'SeatsInUse', 'NextDispatchR'],
    ...['InitialSeatsSum', 'MaxSeatsSum', 'TotalWorkSum'],
  ];
  const rows = levels.flatMap(({ configuration: { name }, queues }) => {
    if (queues === undefined) return [[name, ...head.slice(1).map(() => none)]];
    return queues.queues.map(({ index, waiting, executing, seatsInUse, nextR, initialSeats, maxSeats, work }) => [
      name,
      ...[index, waiting.size, executing, seatsInUse].map(String),
      formatWork(nextR),
      ...[initialSeats, maxSeats].map(String),
      formatWork(work),
    ]);
  });
  return [head, ...rows];
}

function requestRows(levels: readonly PriorityLevel[], clock: DumpOptions['clock'], details: boolean): string[][] {
  const head = [
    // The misspelling is part of the format.
    ...['PriorityLevelName', 'FlowSchemaName', 'QueueIndex', 'RequestIndexInQueue', 'FlowDistingsher', 'ArriveTime'],
    ...['InitialSeats', 'FinalSeats', 'AdditionalLatency'],
    ...(details ? ['UserName', 'Verb', 'APIPath', 'Namespace', 'Name', 'APIVersion', 'Resource', 'SubResource'] : []),
  ];
  const offsetMs = clock.now() - clock.monotonic();
  const rows = levels.flatMap(({ configuration: { name }, queues }) =>
    (queues?.queues ?? []).flatMap(({ index, waiting }) =>
      [...waiting].map((ticket, place) => [
        name,
        ticket.flow.schema,
        String(index),
        String(place),
        ticket.distinguisher,
        formatNanoTime(offsetMs + ticket.arrivedMs),
        String(ticket.initialSeats),
        String(ticket.finalSeats),
        formatDuration(ticket.lingerMs),
        ...(details ? detailsOf(ticket) : []),
      ]),
    ),
  );
  return [head, ...rows];
}

function detailsOf({ details: { user, info } }: Ticket): string[] {
  const { verb, path, namespace, name, group, version, resource, subresource } = info;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return [user.name, verb, path, namespace, name, apiVersion, resource, subresource];
}

/** RFC 3339 without trailing zeros. */
function formatNanoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z');
}

/** Cells that end with commas, in columns of at least eight characters. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 8, cell.length + 2);
  }
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : `${cell},`.padEnd(widths[i] ?? 0))).join('');
  return rows.map((row) => `${line(row)}\n`).join('');
}
