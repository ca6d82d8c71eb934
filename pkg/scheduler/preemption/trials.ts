import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Budget } from '#scheduler/cluster/objects.js';
import type { Rejection } from '#scheduler/framework/plugin.js';
import type { Victims } from '#scheduler/preemption/victims.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

type Result = Victims | Rejection;

/** Whom pods of one kind and priority would evict from nodes: known until a node or a budget changes. */
export class Trials {
  readonly priority: number;
  readonly budgets: readonly Budget[];
  readonly #nominator: Nominator;
  /** By slot. */
  readonly #results: ({ readonly generation: number; readonly result: Result } | undefined)[] = [];

  constructor(priority: number, budgets: readonly Budget[], nominator: Nominator) {
    this.priority = priority;
    this.budgets = budgets;
    this.#nominator = nominator;
  }

  get({ generation, name, slot }: NodeInfo): Result | undefined {
    const kept = this.#results[slot];
    return kept?.generation === generation && this.#nominator.on(name).length === 0 ? kept.result : undefined;
  }

  set({ generation, name, slot }: NodeInfo, result: Result): void {
    if (this.#nominator.on(name).length === 0) this.#results[slot] = { generation, result };
  }
}
