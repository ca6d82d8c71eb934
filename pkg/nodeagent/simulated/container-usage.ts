/** CPU and memory that a simulated container uses, by its settings. */
import type { Clock } from '#apimachinery/clock.js';
import { parseQuantity } from '#apimachinery/quantity.js';
import type { Behaviour } from '#nodeagent/simulated/behaviour.js';
import { Usage } from '#nodeagent/simulated/settings/usage.js';
import type { Simulation } from '#nodeagent/simulated/simulation.js';

interface ContainerUsageOptions {
  readonly clock: Clock;
  readonly behaviour: () => Behaviour;
  readonly simulation: Simulation;
  readonly podUID: string;
  readonly controllerUID: string | undefined;
  readonly container: string;
  /** 0: none. */
  readonly memoryLimitBytes: number;
}

/** Of containers without a setting: a thousandth of a core, and one mebibyte. */
const idleNanosecondsPerMs = 1000;
const idleBytes = 1 << 20;
const nanosecondsPerCoreMs = 1e6;

export class ContainerUsage {
  readonly #options: ContainerUsageOptions;
  #nanoseconds = 0;
  /** Time up to which the CPU use is counted: since the start, and since the start of the group. */
  #countedMs = 0;
  #groupCountedMs = 0;

  constructor(options: ContainerUsageOptions) {
    this.#options = options;
  }

  started(): void {
    const group = this.#group();
    group.running += 1;
    this.#groupCountedMs = this.#options.clock.monotonic() - group.sinceMs;
  }

  ended(): void {
    this.#group().running -= 1;
  }

  /** The containers of that name of one controller, or the container alone. */
  #group() {
    const { simulation, podUID, controllerUID, container } = this.#options;
    return simulation.group(`${controllerUID ?? podUID} ${container}`);
  }

  /** CPU time since the start, `runningMs` ago. */
  cpuNanoseconds(runningMs: number): number {
    const { behaviour, clock, container } = this.#options;
    const now = behaviour();
    const request = units(now.request(container, 'cpu'));
    const own = now.get('cpu', container);
    const shared = now.get('cpu-shared', container);
    const group = this.#group();
    const groupMs = clock.monotonic() - group.sinceMs;
    if (own === undefined && shared === undefined) {
      this.#nanoseconds += (runningMs - this.#countedMs) * idleNanosecondsPerMs;
    }
    if (own !== undefined) this.#add(new Usage(own, request), this.#countedMs, runningMs, 1);
    if (shared !== undefined) this.#add(new Usage(shared, request), this.#groupCountedMs, groupMs, group.running);
    this.#countedMs = runningMs;
    this.#groupCountedMs = groupMs;
    return Math.round(this.#nanoseconds);
  }

  #add(usage: Usage, fromMs: number, toMs: number, shares: number): void {
    if (toMs <= fromMs) return;
    this.#nanoseconds += ((usage.total(toMs) - usage.total(fromMs)) * nanosecondsPerCoreMs) / Math.max(1, shares);
  }

  memoryBytes(runningMs: number): number {
    const usage = this.#memory();
    return usage === undefined ? idleBytes : Math.round(usage.at(runningMs));
  }

  /** When the container will use more memory than its limit; undefined: never. */
  outOfMemoryAfterMs(): number | undefined {
    const { memoryLimitBytes } = this.#options;
    return memoryLimitBytes > 0 ? this.#memory()?.exceeds(memoryLimitBytes) : undefined;
  }

  #memory(): Usage | undefined {
    const { behaviour, container } = this.#options;
    const now = behaviour();
    const profile = now.get('memory', container);
    return profile && new Usage(profile, units(now.request(container, 'memory')));
  }
}

/** Whole units of a quantity with its fraction. */
function units(quantity: string | undefined): number {
  return quantity === undefined ? 0 : Number(parseQuantity(quantity).nanos) / 1e9;
}
