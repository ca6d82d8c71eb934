/** What the simulated nodes of a cluster share: the rules, and counts that go beyond one container. */
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { type GivenRules, parseRules, type SimulationRule } from '#nodeagent/simulated/settings/rules.js';

/** Containers that share their CPU use. */
interface Group {
  readonly sinceMs: number;
  running: number;
}

/** Pods and Jobs whose attempts are counted. */
const maxCounts = 10_000;

export class Simulation {
  readonly #clock: Clock;
  #rules: GivenRules = { rules: [], source: [] };
  readonly #counts = new LruCache<string, number>({ limit: maxCounts });
  readonly #groups = new LruCache<string, Group>({ limit: maxCounts });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get rules(): readonly SimulationRule[] {
    return this.#rules.rules;
  }

  /** The rules as they were given, as JSON. */
  get source(): readonly unknown[] {
    return this.#rules.source;
  }

  /** Replaces the rules by those of a YAML or JSON text, or of its value. Throws RulesError, and keeps the old ones. */
  setRules(given: unknown): void {
    this.#rules = parseRules(given);
  }

  /** How often this was called with the key before. */
  count(key: string): number {
    const before = this.#counts.get(key) ?? 0;
    this.#counts.set(key, before + 1);
    return before;
  }

  /** The containers that share their CPU use by this key. */
  group(key: string): Group {
    const group = this.#groups.get(key) ?? { sinceMs: this.#clock.monotonic(), running: 0 };
    this.#groups.set(key, group);
    return group;
  }
}
