/** A priority level and a flow schema as the server applies them. */
import type { FlowSchema } from '#api/flowcontrol/v1beta2/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { LevelConfiguration, PlannedLevel } from '#apiserver/flowcontrol/configuration.js';
import { dealHand, flowHash } from '#apiserver/flowcontrol/hands.js';
import { QueueSet } from '#apiserver/flowcontrol/queue-set.js';
import type { FlowSeries, LevelSeries } from '#apiserver/flowcontrol/series.js';
import type { ByteBudget } from '#http/server/byte-budget.js';

export interface LevelSetup {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly series: LevelSeries;
  readonly waitLimitMs: number;
  /** Memory that the responses to the level's requests may hold; undefined for the exempt level. */
  readonly budget: ByteBudget | undefined;
  /** Called when a quiescing level has no more requests. */
  readonly drained: () => void;
}

export class PriorityLevel {
  readonly series: LevelSeries;
  readonly budget: ByteBudget | undefined;
  /** Undefined: the level is exempt. */
  readonly queues: QueueSet | undefined;
  configuration: LevelConfiguration;
  quiescing = false;
  /** Requests that other servers answer. */
  passedOn = 0;

  constructor({ configuration }: PlannedLevel, setup: LevelSetup) {
    const { drained, ...rest } = setup;
    this.configuration = configuration;
    this.series = setup.series;
    this.budget = setup.budget;
    const idle = () => {
      if (this.quiescing) drained();
    };
    this.queues = configuration.shares === undefined ? undefined : new QueueSet({ ...rest, idle });
  }

  get isBusy(): boolean {
    return this.queues !== undefined && !this.queues.isIdle;
  }

  apply({ configuration, limit, quiescing }: PlannedLevel): void {
    this.configuration = configuration;
    this.quiescing = quiescing;
    if (limit !== undefined) this.queues?.configure(configuration.queuing, limit);
  }
}

/** Hands that a schema keeps. */
const maxHands = 1000;
const noHand: readonly number[] = [];

export class AppliedSchema {
  readonly schema: FlowSchema;
  readonly level: PriorityLevel;
  readonly flow: FlowSeries;
  /** Headers of every response to the schema's requests. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #hands = new Map<string, readonly number[]>();

  constructor(
    schema: FlowSchema,
    level: PriorityLevel,
    headerNames: { readonly schema: string; readonly level: string },
  ) {
    this.schema = schema;
    this.level = level;
    this.flow = level.series.flow(schema.metadata.name ?? '');
    this.headers = {
      [headerNames.level]: level.configuration.uid,
      [headerNames.schema]: schema.metadata.uid ?? '',
    };
  }

  /** What tells the schema's flows apart; empty where it has one flow. */
  distinguish(user: string, namespace: string): string {
    if ((this.level.configuration.queuing?.queues ?? 0) <= 1) return '';
    switch (this.schema.spec.distinguisherMethod?.type) {
      case 'ByUser':
        return user;
      case 'ByNamespace':
        return namespace;
      default:
        return '';
    }
  }

  /** The queues of a flow. */
  hand(distinguisher: string): readonly number[] {
    const { queuing } = this.level.configuration;
    if (queuing === undefined) return noHand;
    let hand = this.#hands.get(distinguisher);
    if (hand === undefined) {
      const hash = queuing.queues > 1 ? flowHash(this.flow.schema, distinguisher) : 0n;
      hand = dealHand(hash, queuing.queues, queuing.handSize);
      if (this.#hands.size >= maxHands) this.#hands.clear();
      this.#hands.set(distinguisher, hand);
    }
    return hand;
  }
}
