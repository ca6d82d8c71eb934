/** Checks of simulated containers: their addresses answer nobody, so that the annotations decide. */
import type { LifecycleHandler, ProbeHandler } from '#api/core/v1/types.gen.js';
import type { CheckResult } from '#nodeagent/probes/check-result.js';
import { type Checker, type CheckTarget, RuntimeChecker } from '#nodeagent/probes/checker.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';

export class SimulatedChecker implements Checker {
  readonly #runtime: SimulatedRuntime;
  readonly #exec: RuntimeChecker;

  constructor(runtime: SimulatedRuntime) {
    this.#runtime = runtime;
    this.#exec = new RuntimeChecker(runtime, 'simulated');
  }

  async check(handler: ProbeHandler | LifecycleHandler, target: CheckTarget, timeoutMs: number): Promise<CheckResult> {
    if (handler.exec !== undefined) return this.#exec.check(handler, target, timeoutMs);
    const fails = this.#runtime.probeFails(target.containerId);
    return fails ? { success: false, output: 'HTTP probe failed with statuscode: 503' } : { success: true, output: '' };
  }
}
