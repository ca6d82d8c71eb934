/**
 * What the configuration objects mean, as 1.24 digests them: objects that are broken or dangle count as absent, the
 * mandatory ones are always there, and a level that was removed stays until its requests have ended. Pure.
 */
import type { FlowSchema, PriorityLevelConfiguration } from '#api/flowcontrol/v1beta2/types.gen.js';
import { inOrder } from '#apiserver/flowcontrol/matching.js';
import type { Queuing } from '#apiserver/flowcontrol/queue-set.js';

/** Names of the mandatory objects of both kinds. */
export const exemptName = 'exempt';
export const catchAllName = 'catch-all';
const maxQueues = 2 ** 26;
/** A hand uses so many bits of a flow's hash at most. */
const maxHashBits = 60;

export interface LevelConfiguration {
  readonly name: string;
  /** Empty while the object does not exist. */
  readonly uid: string;
  /** Undefined: the level is exempt. */
  readonly shares: number | undefined;
  /** Undefined: requests beyond the limit are refused. */
  readonly queuing: Queuing | undefined;
}

export interface PlannedLevel {
  readonly configuration: LevelConfiguration;
  /** Seats; undefined for the exempt level. */
  readonly limit: number | undefined;
  /** The level was removed, and its last requests are under way. */
  readonly quiescing: boolean;
}

export interface PlannedSchema {
  readonly schema: FlowSchema;
  /** Name of its level. */
  readonly level: string;
}

export interface Plan {
  /** In the order in which they are tried; the last one is for all other requests. */
  readonly schemas: readonly PlannedSchema[];
  readonly levels: ReadonlyMap<string, PlannedLevel>;
}

export interface Observed {
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevelConfiguration[];
  /** Configuration of the present levels that still have requests. */
  readonly busy: readonly LevelConfiguration[];
  readonly mandatory: {
    readonly schemas: readonly FlowSchema[];
    readonly levels: readonly PriorityLevelConfiguration[];
  };
  /** Seats of all levels together. */
  readonly seats: number;
}

export function planConfiguration({ schemas, levels, busy, mandatory, seats }: Observed): Plan {
  const desired = new Map<string, LevelConfiguration>();
  for (const level of levels) {
    const configuration = levelConfiguration(level);
    if (configuration !== undefined) desired.set(configuration.name, configuration);
  }
  const usable = schemas.filter((schema) => desired.has(levelOf(schema)));
  const planned = withMandatory(inOrder(usable), mandatory.schemas);
  const quiescing = new Set<string>();
  for (const level of mandatory.levels.map(levelConfiguration)) {
    if (level !== undefined && !desired.has(level.name)) desired.set(level.name, level);
  }
  for (const level of busy) {
    if (desired.has(level.name)) continue;
    desired.set(level.name, level);
    quiescing.add(level.name);
  }
  const shares = [...desired.values()].reduce((sum, level) => sum + (level.shares ?? 0), 0);
  const limitOf = ({ shares: own }: LevelConfiguration) =>
    own === undefined ? undefined : Math.ceil((seats * own) / shares);
  return {
    schemas: planned.map((schema) => ({ schema, level: levelOf(schema) })),
    levels: new Map(
      [...desired].map(([name, configuration]) => [
        name,
        { configuration, limit: limitOf(configuration), quiescing: quiescing.has(name) },
      ]),
    ),
  };
}

function levelOf({ spec }: FlowSchema): string {
  return spec.priorityLevelConfiguration.name;
}

/** The mandatory exempt schema comes first, the one for all other requests last. */
function withMandatory(schemas: readonly FlowSchema[], mandatory: readonly FlowSchema[]): FlowSchema[] {
  const missing = (name: string) =>
    schemas.some(({ metadata }) => metadata.name === name)
      ? []
      : mandatory.filter(({ metadata }) => metadata.name === name);
  return [...missing(exemptName), ...schemas, ...missing(catchAllName)];
}

/** Undefined for a level that cannot work. */
export function levelConfiguration({ metadata, spec }: PriorityLevelConfiguration): LevelConfiguration | undefined {
  const { name = '', uid = '' } = metadata;
  const { type, limited } = spec;
  const exempt = type === 'Exempt';
  if (exempt !== (limited === undefined) || exempt !== (name === exemptName)) return undefined;
  if (limited === undefined) return { name, uid, shares: undefined, queuing: undefined };
  const { assuredConcurrencyShares: shares = 30, limitResponse } = limited;
  const queuing = limitResponse?.queuing;
  if ((limitResponse?.type === 'Queue') !== (queuing !== undefined) || shares <= 0) return undefined;
  if (queuing === undefined) return { name, uid, shares, queuing: undefined };
  const { queues = 64, handSize = 8, queueLengthLimit = 50 } = queuing;
  const dealable =
    handSize >= 1 && queues <= maxQueues && handSize <= queues && Math.log2(queues) * handSize <= maxHashBits;
  return dealable ? { name, uid, shares, queuing: { queues, handSize, queueLengthLimit } } : undefined;
}
