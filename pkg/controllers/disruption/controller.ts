/** Maintains the status of disruption budgets, which the API server checks before evictions. */
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/policy/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter, retry } from '#client/workqueue/outcome.js';
import { failedStatus, needsScale, planBudget } from '#controllers/disruption/plan.js';
import { Scales } from '#controllers/disruption/scales.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByLabel, selectedFrom, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

/** As in 1.24. */
const concurrency = 1;

export class DisruptionController implements Controller {
  readonly name = 'disruption';
  readonly #context: ControllerContext;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #pods: Informer<Pod>;
  readonly #scales: Scales;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#budgets = sharedInformer(context.informers, poddisruptionbudgets);
    this.#pods = sharedInformer(context.informers, podType);
    indexByLabel(this.#pods);
    this.#scales = new Scales(context);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (budget: PodDisruptionBudget) => this.#loop.queue.add(keyOf(budget));
    const addBudgets = (pod: Pod) => this.#enqueueBudgets(pod);
    await this.#loop.run(signal, [
      this.#budgets.addHandler({ onAdd: add, onUpdate: add, onDelete: add }),
      this.#pods.addHandler({
        onAdd: addBudgets,
        onUpdate: (pod, old) => {
          if (!semanticEqual(pod.metadata.labels, old.metadata.labels)) addBudgets(old);
          addBudgets(pod);
        },
        onDelete: addBudgets,
      }),
    ]);
  }

  #enqueueBudgets({ metadata }: Pod): void {
    for (const budget of this.#budgets.list(metadata.namespace)) {
      if (compileSelector(budget.spec.selector)?.matches(metadata.labels)) this.#loop.queue.add(keyOf(budget));
    }
  }

  async #reconcile(key: string): Promise<Outcome> {
    const budget = this.#budgets.get(key);
    if (budget === undefined) return done;
    try {
      return await this.#sync(budget);
    } catch (error) {
      // The API server granted an eviction meanwhile: compute the status again.
      if (isConflict(error)) return retry(error);
      if (isNotFound(error)) return done;
      const failed = failedStatus(budget, messageOf(error), this.#context.clock.now());
      if (!semanticEqual(failed, budget.status)) await this.#writeStatus(budget, failed);
      return retry(error);
    }
  }

  async #sync(budget: PodDisruptionBudget): Promise<Outcome> {
    const { clock, events } = this.#context;
    const pods = this.#podsOf(budget);
    if (pods.length === 0) events.record(budget, 'Normal', 'NoPods', 'No matching pods found');
    const expectedScale = needsScale(budget) ? await this.#expectedScale(budget, pods) : 0;
    const plan = planBudget({ budget, pods, expectedScale }, clock.now());
    const { namespace, name } = budget.metadata;
    for (const pod of plan.notDeleted) {
      const message = `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`;
      events.record(pod, 'Warning', 'NotDeleted', message);
    }
    if (plan.status !== undefined) await this.#writeStatus(budget, plan.status);
    return plan.requeueAfterMs === undefined ? done : requeueAfter(plan.requeueAfterMs);
  }

  #podsOf(budget: PodDisruptionBudget): Pod[] {
    try {
      return selectedFrom(this.#pods, budget.metadata.namespace ?? '', budget.spec.selector);
    } catch (error) {
      const message = `Failed to get pods: ${messageOf(error)}`;
      this.#context.events.record(budget, 'Warning', 'NoPods', message);
      throw error;
    }
  }

  async #expectedScale(budget: PodDisruptionBudget, pods: readonly Pod[]): Promise<number> {
    const { events, log } = this.#context;
    try {
      const { replicas, unmanaged } = await this.#scales.expected(pods);
      if (unmanaged.length > 0)
        log.debug({ budget: keyOf(budget), unmanaged }, 'budget selects pods without a controller');
      return replicas;
    } catch (error) {
      const message = `Failed to calculate the number of expected pods: ${messageOf(error)}`;
      events.record(budget, 'Warning', 'CalculateExpectedPodCountFailed', message);
      throw error;
    }
  }

  /** Throws 409 when the budget has changed, as when an eviction was granted. */
  async #writeStatus(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus): Promise<void> {
    const written = await this.#context.client.resource(poddisruptionbudgets).updateStatus({ ...budget, status });
    this.#loop.written.wrote(keyOf(budget), this.#budgets, written);
  }
}
