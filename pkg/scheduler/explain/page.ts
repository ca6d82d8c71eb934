/** `/debug/scheduler/explain?pod=NAMESPACE/NAME`: explains a pod's placement from the scheduler's own state. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { DebugPageError, type DebugPages, type DebugRequest } from '#daemon/debugging/debug-endpoints.js';
import { type ExplainOptions, explain } from '#scheduler/explain/explain.js';
import { ClusterCopy, Pace, type Snapshot } from '#scheduler/explain/snapshot.js';
import type { Extender } from '#scheduler/framework/extender.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** The state of a scheduler that leads. */
export interface SchedulerView {
  /** `key`: `namespace/name`. */
  pod(key: string): Pod | undefined;
  /** All pods of the cluster. */
  pods(): readonly Pod[];
  /** The current state; fast enough for one turn of the event loop. */
  snapshot(): Snapshot;
}

export interface ExplainPageOptions {
  /** Undefined while this scheduler does not lead. */
  readonly view: () => SchedulerView | undefined;
  readonly dialect: Dialect;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly profiles: readonly Profile[];
  /** Only points without side effects are called. */
  readonly extenders?: readonly Extender[];
}

const maxItems = 500;
const parameters = new Set(['pod', 'node', 'limit', 'continue', 'scores']);

/** Serves one request at a time, since each needs a copy of the cluster. */
export function explainPages({ clock, dialect, extenders = [], profiles, view }: ExplainPageOptions): DebugPages {
  let busy = false;
  return {
    '/debug/scheduler/explain': async (request) => {
      const { key, options } = parseRequest(request);
      const state = view();
      if (state === undefined) throw new DebugPageError(503, 'this scheduler does not lead');
      const pod = state.pod(key);
      if (pod === undefined) throw new DebugPageError(404, `pods ${JSON.stringify(key)} not found`);
      if (busy) throw new DebugPageError(429, 'another explanation is being worked on: try again');
      busy = true;
      try {
        const copy = await ClusterCopy.of(state.snapshot(), dialect, new Pace(clock, request.signal));
        const data = await explain(pod, {
          copy,
          dialect,
          profiles,
          extenders: { extenders, ask: request.signal },
          ...options,
        });
        return { data, text: () => `${JSON.stringify(data, undefined, 2)}\n` };
      } finally {
        busy = false;
      }
    },
  };
}

function parseRequest({ method, query }: DebugRequest): {
  key: string;
  options: Pick<ExplainOptions, 'scores' | 'details'>;
} {
  const badRequest = (text: string) => new DebugPageError(400, text);
  if (method !== 'GET') throw new DebugPageError(405, 'only GET is allowed');
  for (const name of query.keys())
    if (!parameters.has(name)) throw badRequest(`unknown parameter ${JSON.stringify(name)}`);
  const key = query.get('pod') ?? '';
  if (!/^[^/]+\/[^/]+$/.test(key)) throw badRequest('pod must be NAMESPACE/NAME');
  const scores = count(query, 'scores', 5);
  const node = query.get('node');
  if (node !== null) return { key, options: { scores, details: { node } } };
  if (!query.has('limit') && !query.has('continue')) return { key, options: { scores } };
  const after = query.get('continue');
  const limit = Math.max(1, count(query, 'limit', maxItems));
  return { key, options: { scores, details: { limit, ...(after === null ? {} : { after }) } } };
}

function count(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  if (!/^\d{1,3}$/.test(text) || Number(text) > maxItems) {
    throw new DebugPageError(400, `${name} must be a number from 0 to ${maxItems}`);
  }
  return Number(text);
}
