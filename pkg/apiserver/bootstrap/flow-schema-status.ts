/** Updates the status of flow schemas: whether their priority level exists. */
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import type { FlowSchema, FlowSchemaCondition } from '#api/flowcontrol/v1beta2/types.gen.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

export interface FlowSchemaStatusOptions {
  readonly reader: ObjectReader;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Delay after a change, so that a burst of changes is handled together. */
const settleMs = 200;
const retryMs = 5000;
const fieldManager = 'api-priority-and-fairness-config-consumer-v1';
/** Writes of one schema's status in a minute: servers of different releases may disagree about it. */
const maxWrites = 6;
const minuteMs = 60_000;

/** Runs until the signal aborts. Writes only changed statuses. */
export async function keepFlowSchemaStatus(options: FlowSchemaStatusOptions, signal: AbortSignal): Promise<void> {
  const { reader, client, clock, log } = options;
  const schemas = new Map<string, FlowSchema>();
  const levels = new Set<string>();
  const pace = new Pace();
  let dirty = false;
  let wake: (() => void) | undefined;
  const changed = () => {
    dirty = true;
    wake?.();
  };
  const following: Follower<FlowSchema> = {
    replaced(all) {
      schemas.clear();
      for (const schema of all) schemas.set(schema.metadata.name ?? '', schema);
      changed();
    },
    changed(schema) {
      schemas.set(schema.metadata.name ?? '', schema);
      changed();
    },
    removed({ metadata }) {
      schemas.delete(metadata.name ?? '');
    },
  };
  signal.addEventListener('abort', () => wake?.(), { once: true });
  try {
    await Promise.all([
      reader.follow(flowschemas, following, signal),
      reader.follow(
        prioritylevelconfigurations,
        {
          replaced(all) {
            levels.clear();
            for (const { metadata } of all) levels.add(metadata.name ?? '');
            changed();
          },
          changed({ metadata }) {
            const { size } = levels;
            if (levels.add(metadata.name ?? '').size > size) changed();
          },
          removed({ metadata }) {
            levels.delete(metadata.name ?? '');
            changed();
          },
        },
        signal,
      ),
    ]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  while (!signal.aborted) {
    if (!dirty)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    await clock.sleep(settleMs, signal);
    if (signal.aborted) return;
    dirty = false;
    for (const schema of schemas.values()) {
      const condition = danglingCondition(schema, levels, clock.now());
      if (condition === undefined) continue;
      const name = schema.metadata.name ?? '';
      if (!pace.allows(name, clock.monotonic())) {
        dirty = true;
        continue;
      }
      try {
        const patch = { status: { conditions: [condition] } };
        const options = { type: 'strategic', subresource: 'status', fieldManager, signal } as const;
        await client.resource(flowschemas).patch(name, patch, options);
      } catch (err) {
        if (signal.aborted) return;
        if (isNotFound(err)) continue;
        log.warn({ err, flowSchema: name }, 'could not write the status of a flow schema');
        dirty = true;
      }
    }
    if (dirty) await clock.sleep(retryMs, signal);
  }
}

/** The schema's new condition, with the message of 1.24; undefined if it has not changed. `now`: ms. Pure. */
export function danglingCondition(
  { spec, status }: FlowSchema,
  levels: ReadonlySet<string>,
  now: number,
): FlowSchemaCondition | undefined {
  const level = spec?.priorityLevelConfiguration?.name ?? '';
  const exists = levels.has(level);
  const state = exists ? 'False' : 'True';
  const message = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} ${
    exists ? 'and it exists' : 'but there is no such object'
  }`;
  const reason = exists ? 'Found' : 'NotFound';
  const last = status?.conditions?.find(({ type }) => type === 'Dangling');
  if (last?.status === state && last.reason === reason && last.message === message) return undefined;
  return { type: 'Dangling', status: state, lastTransitionTime: formatTime(now), reason, message };
}

/** Limits the writes of each schema. */
export class Pace {
  readonly #writes = new Map<string, number[]>();

  /** Counts a write, unless there were too many in the last minute. `nowMs`: monotonic. */
  allows(name: string, nowMs: number): boolean {
    for (const [each, instants] of this.#writes) {
      const recent = instants.filter((instant) => nowMs - instant < minuteMs);
      if (recent.length === 0) this.#writes.delete(each);
      else this.#writes.set(each, recent);
    }
    const own = this.#writes.get(name) ?? [];
    if (own.length >= maxWrites) return false;
    this.#writes.set(name, [...own, nowMs]);
    return true;
  }
}
