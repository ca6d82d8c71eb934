/** Applies the configuration objects to the priority levels whenever they change. */
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/flowcontrol/v1beta2/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import { catchAllName, exemptName, planConfiguration } from '#apiserver/flowcontrol/configuration.js';
import { AppliedSchema, PriorityLevel } from '#apiserver/flowcontrol/priority-level.js';
import type { FlowControlSeries } from '#apiserver/flowcontrol/series.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';
import { ByteBudget, type ByteBudgetOptions } from '#http/server/byte-budget.js';

export interface AppliedConfigurationOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly series: FlowControlSeries;
  /** Seats of all levels together. */
  readonly seats: number;
  readonly waitLimitMs: number;
  /** Called with the flow schemas, in the order in which they are tried: at once, and after each change. */
  readonly applied: (schemas: readonly AppliedSchema[]) => void;
  /** Called from time to time, with the monotonic time. */
  readonly sample: (nowMs: number) => void;
  /** Memory that responses to all limited requests may hold; each level gets the part that its seats are of all. */
  readonly responses: Omit<ByteBudgetOptions, 'clock'>;
}

/** How often idle levels record their samples. */
const samplePeriodMs = 10_000;

export class AppliedConfiguration {
  readonly #options: AppliedConfigurationOptions;
  readonly #mandatory;
  readonly #schemas = new Map<string, FlowSchema>();
  readonly #configurations = new Map<string, PriorityLevelConfiguration>();
  readonly #levels = new Map<string, PriorityLevel>();

  constructor(options: AppliedConfigurationOptions) {
    this.#options = options;
    const isMandatory = ({ metadata: { name } }: ApiObjectShape) => name === exemptName || name === catchAllName;
    this.#mandatory = {
      schemas: bootstrapFlowSchemas(options.dialect).filter(isMandatory),
      levels: bootstrapPriorityLevels(options.dialect).filter(isMandatory),
    };
    this.#apply();
  }

  get levels(): Iterable<PriorityLevel> {
    return this.#levels.values();
  }

  /** Follows the objects until the signal aborts. */
  async follow(reader: ObjectReader, signal: AbortSignal): Promise<void> {
    try {
      await Promise.all([
        reader.follow(flowschemas, this.#follower(this.#schemas), signal),
        reader.follow(prioritylevelconfigurations, this.#follower(this.#configurations), signal),
      ]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(samplePeriodMs, signal);
      const nowMs = clock.monotonic();
      for (const { series } of this.#levels.values()) series.sample(nowMs);
      this.#options.sample(nowMs);
    }
  }

  #follower<T extends ApiObjectShape>(objects: Map<string, T>): Follower<T> {
    const set = (object: T) => objects.set(object.metadata.name ?? '', object);
    return {
      replaced: (all) => {
        objects.clear();
        for (const object of all) set(object);
        this.#apply();
      },
      changed: (object) => {
        const { generation, uid } = objects.get(object.metadata.name ?? '')?.metadata ?? {};
        set(object);
        // A new status changes nothing.
        if (uid !== object.metadata.uid || generation !== object.metadata.generation) this.#apply();
      },
      removed: ({ metadata }) => {
        objects.delete(metadata.name ?? '');
        this.#apply();
      },
    };
  }

  #apply(): void {
    const { seats, clock, series, dialect } = this.#options;
    const plan = planConfiguration({
      schemas: [...this.#schemas.values()],
      levels: [...this.#configurations.values()],
      busy: [...this.#levels.values()].filter(({ isBusy }) => isBusy).map(({ configuration }) => configuration),
      mandatory: this.#mandatory,
      seats,
    });
    for (const name of this.#levels.keys()) {
      if (plan.levels.has(name)) continue;
      this.#levels.delete(name);
      series.forget(name);
    }
    const limits = [...plan.levels.values()].reduce((sum, { limit = 0 }) => sum + limit, 0);
    for (const [name, planned] of plan.levels) {
      let level = this.#levels.get(name);
      if (level === undefined) {
        level = new PriorityLevel(planned, {
          ...this.#options,
          series: series.level(name, clock.monotonic()),
          budget: planned.limit === undefined ? undefined : this.#newBudget(),
          drained: () => this.#apply(),
        });
        this.#levels.set(name, level);
      }
      level.budget?.resize(Math.floor((this.#options.responses.bytes * (planned.limit ?? 0)) / limits));
      level.apply(planned);
    }
    const headerNames = {
      level: `${dialect.extensionPrefix}pf-prioritylevel-uid`,
      schema: `${dialect.extensionPrefix}pf-flowschema-uid`,
    };
    const names = new Set(plan.schemas.map(({ schema }) => schema.metadata.name ?? ''));
    for (const level of this.#levels.values()) level.series.keep(names);
    this.#options.applied(
      plan.schemas.flatMap(({ schema, level: name }) => {
        const level = this.#levels.get(name);
        return level === undefined ? [] : [new AppliedSchema(schema, level, headerNames)];
      }),
    );
  }

  #newBudget(): ByteBudget {
    const { clock, responses } = this.#options;
    return new ByteBudget({ ...responses, clock });
  }
}
