/** The pages `/debug/controllers` and `/debug/controllers/<name>`: the state of controllers, their keys and failures. */
import { alignColumns } from '#apimachinery/columns.js';
import type { LoopReport } from '#controllers/framework/loop-report.js';
import type { ControllerReport } from '#controllers/manager.js';
import type { DebugPage } from '#daemon/debugging/debug-endpoints.js';

/** The number of keys in each list, on the page of all controllers and on that of one controller. */
const limits = { all: 100, one: 1000 };

/** `names`: controllers with their own page. `reports` returns all controllers, with at most `limit` keys per list. */
export function controllerPages(
  names: readonly string[],
  reports: (limit: number) => readonly ControllerReport[],
): Readonly<Record<string, () => DebugPage>> {
  const path = '/debug/controllers';
  const page = (limit: number, isShown: (report: ControllerReport) => boolean): DebugPage => {
    const controllers = reports(limit).filter(isShown);
    return { data: { controllers }, text: () => renderText(controllers) };
  };
  const own = names.map((name) => [`${path}/${name}`, () => page(limits.one, (report) => report.name === name)]);
  return { [path]: () => page(limits.all, () => true), ...Object.fromEntries(own) };
}

const countColumns = ['waiting', 'working', 'retrying', 'scheduled'] as const;

function renderText(controllers: readonly ControllerReport[]): string {
  const head = ['CONTROLLER', 'LOOP', 'STATE', ...countColumns.map((name) => name.toUpperCase()), 'LAST SYNC'];
  const rows = controllers.flatMap(({ name, state, reason, loops }) => {
    const shown = reason === undefined ? state : `${state}: ${reason}`;
    if (loops.length === 0) return [[name, '', shown]];
    return loops.map((loop) => [
      name,
      loop.name,
      shown,
      ...countColumns.map((kind) => String(loop.counts[kind])),
      loop.lastSync ?? 'never',
    ]);
  });
  const details = controllers.flatMap(({ name, loops }) => loops.flatMap((loop) => detailLines(name, loop)));
  return `${[...alignColumns([head, ...rows], { gap: 2 }), ...(details.length === 0 ? [] : ['', ...details])].join('\n')}\n`;
}

function detailLines(controller: string, { working, retrying, errors }: LoopReport): string[] {
  return [
    ...working.map(({ key, seconds }) => `${controller} works on ${key} for ${seconds.toFixed(3)} s`),
    ...retrying.map(
      ({ key, failures, nextTry, error = 'unknown' }) =>
        `${controller} retries ${key} at ${nextTry} after ${failures} failures: ${oneLine(error)}`,
    ),
    ...errors.map(({ key, time, error, recovered }) => {
      const since = recovered === undefined ? '' : `, recovered at ${recovered}`;
      return `${controller} failed on ${key} at ${time}${since}: ${oneLine(error)}`;
    }),
  ];
}

/** Replaces control characters, which names of failing objects may contain. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
