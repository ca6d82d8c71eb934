/** `/debug/controllers`, of all controllers, and `/debug/controllers/<name>`: what they are at, what fails and why. */
import { alignColumns } from '#apimachinery/columns.js';
import type { LoopReport } from '#controllers/framework/loop-report.js';
import type { ControllerReport } from '#controllers/manager.js';
import type { DebugPage } from '#daemon/debugging/debug-endpoints.js';

/** Keys that each list names: where all controllers are shown, and where one is. */
const limits = { all: 100, one: 1000 };

/** `names`: of the controllers that have pages of their own; `reports` tells of all, as their lists up to a limit. */
export function controllerPages(
  names: readonly string[],
  reports: (limit: number) => readonly ControllerReport[],
): Readonly<Record<string, () => DebugPage>> {
  const path = '/debug/controllers';
  const page = (limit: number, isShown: (report: ControllerReport) => boolean): DebugPage => {
    const controllers = reports(limit).filter(isShown);
    return { data: { controllers }, text: () => textOf(controllers) };
  };
  const own = names.map((name) => [`${path}/${name}`, () => page(limits.one, (report) => report.name === name)]);
  return { [path]: () => page(limits.all, () => true), ...Object.fromEntries(own) };
}

const counted = ['waiting', 'working', 'retrying', 'scheduled'] as const;

function textOf(controllers: readonly ControllerReport[]): string {
  const head = ['CONTROLLER', 'LOOP', 'STATE', ...counted.map((name) => name.toUpperCase()), 'LAST SYNC'];
  const rows = controllers.flatMap(({ name, state, reason, loops }) => {
    const shown = reason === undefined ? state : `${state}: ${reason}`;
    if (loops.length === 0) return [[name, '', shown]];
    return loops.map((loop) => [
      name,
      loop.name,
      shown,
      ...counted.map((kind) => String(loop.counts[kind])),
      loop.lastSync ?? 'never',
    ]);
  });
  const details = controllers.flatMap(({ name, loops }) => loops.flatMap((loop) => linesOf(name, loop)));
  return `${[...alignColumns([head, ...rows], { gap: 2 }), ...(details.length === 0 ? [] : ['', ...details])].join('\n')}\n`;
}

function linesOf(controller: string, { working, retrying, errors }: LoopReport): string[] {
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

/** No control characters: what fails may be called anything. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
