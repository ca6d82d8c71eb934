/**
 * Keeps the default objects of priority and fairness as 1.24 does: absent ones are created, mandatory ones always have their
 * default content, and suggested ones have it unless an administrator has edited them.
 */
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/flowcontrol/v1beta2/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { autoUpdateKey, bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import type { Client } from '#client/client.js';
import type { Logger } from '#daemon/log/logger.js';

type Configuration = FlowSchema | PriorityLevelConfiguration;

const fieldManager = 'api-priority-and-fairness-config-producer-v1';
const periodMs = 60_000;
const mandatory: ReadonlySet<string> = new Set(['exempt', 'catch-all']);

/** Runs until the signal aborts. */
export async function keepFlowControlObjects(
  { client, clock, log }: { readonly client: Client; readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await ensureFlowControlObjects(client, signal);
    } catch (err) {
      if (signal.aborted) return;
      log.warn({ err }, 'could not keep the default flow schemas and priority levels, trying again later');
    }
    await clock.sleep(periodMs, signal);
  }
}

/** Writes what differs; several servers may do so at once. */
export async function ensureFlowControlObjects(client: Client, signal?: AbortSignal): Promise<void> {
  const { dialect } = client;
  // Schemas of a level that does not exist would dangle for a moment.
  await ensureObjects(client, prioritylevelconfigurations, bootstrapPriorityLevels(dialect), signal);
  await ensureObjects(client, flowschemas, bootstrapFlowSchemas(dialect), signal);
}

async function ensureObjects<T extends Configuration>(
  client: Client,
  type: ResourceType<T>,
  desired: readonly T[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { dialect } = client;
  const own = client.resource(type);
  const within = signal === undefined ? {} : { signal };
  const items = await own.list(within).then(
    (list) => list.items,
    (error: unknown) => {
      // The version is turned off.
      if (isNotFound(error)) return undefined;
      throw error;
    },
  );
  if (items === undefined) return;
  const present = new Map(items.map((item) => [item.metadata.name ?? '', item]));
  const settle = async (write: Promise<unknown>) => {
    try {
      await write;
    } catch (error) {
      // Another server was faster, or an administrator: the next round looks again.
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
  };
  for (const object of desired) {
    const existing = present.get(object.metadata.name ?? '');
    const next = existing === undefined ? undefined : reconciled(object, existing, dialect);
    if (existing === undefined) await settle(own.create(object, { ...within, fieldManager }));
    else if (next !== undefined) await settle(own.update(next, { ...within, fieldManager }));
  }
  const names = new Set(desired.map(({ metadata }) => metadata.name ?? ''));
  for (const item of items) {
    if (isFormer(item, names, dialect)) await settle(own.delete(item.metadata.name ?? '', within));
  }
}

/** What to write; undefined if the object is as it should be. Pure. */
export function reconciled<T extends Configuration>(desired: T, existing: T, dialect: Dialect): T | undefined {
  const key = autoUpdateKey(dialect);
  const { annotations = {}, generation, name = '' } = existing.metadata;
  const marked = parseBool(annotations[key]);
  const updates = mandatory.has(name) || (marked ?? generation === 1);
  const isChanged = updates && !semanticEqual(desired.spec, existing.spec);
  if (marked === updates && !isChanged) return undefined;
  const metadata =
    marked === updates
      ? existing.metadata
      : { ...existing.metadata, annotations: { ...annotations, [key]: String(updates) } };
  return isChanged ? { ...existing, metadata, spec: desired.spec } : { ...existing, metadata };
}

/** An object that an earlier release had as a default, and that is still updated automatically. Pure. */
export function isFormer({ metadata }: Configuration, names: ReadonlySet<string>, dialect: Dialect): boolean {
  return !names.has(metadata.name ?? '') && parseBool(metadata.annotations?.[autoUpdateKey(dialect)]) === true;
}

/** As Go's strconv.ParseBool; undefined for other texts. */
function parseBool(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (/^(?:1|t|T|TRUE|true|True)$/.test(text)) return true;
  return /^(?:0|f|F|FALSE|false|False)$/.test(text) ? false : undefined;
}
