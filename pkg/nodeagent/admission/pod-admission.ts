/** Admits the pods of a node one after the other; what runs already is admitted. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unenforceable } from '#nodeagent/admission/app-armor.js';
import { type AdmissionInput, isCriticalPod, lacking, type Refusal, refusal } from '#nodeagent/admission/plan.js';
import { PreemptionError, podsToPreempt } from '#nodeagent/admission/preemption.js';

export interface PodAdmissionOptions {
  readonly dialect: Dialect;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the machine's kernel confines by AppArmor. */
  readonly appArmor: boolean;
  /** The node as last seen. */
  readonly node: () => Node;
  /** The node as the API has it now. */
  readonly refreshNode: () => Promise<Node>;
  /** All pods of the node, with their newest statuses. */
  readonly pods: () => readonly Pod[];
  /** Whether the runtime holds anything of it. By UID. */
  readonly isKnown: (uid: string) => boolean;
  /** Whether it is a static pod. By UID. */
  readonly isStatic: (uid: string) => boolean;
  /** Ends a pod, by UID, for the sake of a critical one, which lacks `resource` before all. */
  readonly preempt: (uid: string, resource: string) => void;
}

export type AdmissionVerdict =
  | { readonly type: 'admitted' }
  | { readonly type: 'refused'; readonly refusal: Refusal }
  /** Others are being ended for it. */
  | { readonly type: 'waiting' };

export class PodAdmission {
  readonly #options: PodAdmissionOptions;
  readonly #admitted = new Set<string>();
  /** Those of them for which others are being ended. */
  readonly #waiting = new Set<string>();
  /** Those that are being ended for them. */
  readonly #condemned = new Set<string>();

  constructor(options: PodAdmissionOptions) {
    this.#options = options;
  }

  /** Whether the pod may run here; it is counted from now on, unless it is refused. Throws StatusError. */
  async admit(pod: Pod): Promise<AdmissionVerdict> {
    const { node, refreshNode } = this.#options;
    const uid = pod.metadata.uid ?? '';
    const isUnknown = !this.#counts(uid) || this.#waiting.has(uid);
    if (isUnknown && this.#judge(pod, node()) !== undefined) {
      // The scheduler may have seen the node later than this agent has.
      const newest = await this.#newestNode(pod, refreshNode);
      const refused = this.#judge(pod, newest);
      if (refused !== undefined) return this.#makeRoom(pod, newest, refused);
    }
    this.#admitted.add(uid);
    this.#waiting.delete(uid);
    return { type: 'admitted' };
  }

  /** Others end for a critical pod that only lacks what they have. */
  #makeRoom(pod: Pod, node: Node, refused: Refusal): AdmissionVerdict {
    const uid = pod.metadata.uid ?? '';
    const input = this.#input(pod, node);
    if (!isCriticalPod(input) || !refused.reason.startsWith('OutOf')) return { type: 'refused', refusal: refused };
    const others = input.others.filter((other) => !this.#condemned.has(other.metadata.uid ?? ''));
    try {
      const isCritical = (each: Pod) =>
        isCriticalPod({ pod: each, isStatic: this.#options.isStatic(each.metadata.uid ?? '') });
      const shortages = lacking({ ...input, others });
      for (const victim of podsToPreempt({ pod, others, shortages, isCritical })) {
        this.#condemned.add(victim.metadata.uid ?? '');
        this.#options.preempt(victim.metadata.uid ?? '', shortages[0]?.resource ?? '');
      }
    } catch (error) {
      if (!(error instanceof PreemptionError)) throw error;
      this.#admitted.delete(uid);
      this.#waiting.delete(uid);
      const what = 'Unexpected error while attempting to recover from admission failure';
      const message = `${what}: preemption: error finding a set of pods to preempt: ${error.message}`;
      return { type: 'refused', refusal: { reason: 'UnexpectedAdmissionError', message } };
    }
    // What is being freed is its own: nobody else gets it.
    this.#admitted.add(uid);
    this.#waiting.add(uid);
    return { type: 'waiting' };
  }

  /** Static pods are the node's own: they are judged without the API where that does not answer. */
  async #newestNode(pod: Pod, refreshNode: () => Promise<Node>): Promise<Node> {
    const { node, isStatic } = this.#options;
    if (!isStatic(pod.metadata.uid ?? '')) return refreshNode();
    return refreshNode().catch(() => node());
  }

  /** Why the pod must wait, as the node is; undefined when it need not. What ran already goes on. */
  blocked(pod: Pod): Refusal | undefined {
    if ((pod.status?.phase ?? 'Pending') !== 'Pending') return undefined;
    const message = unenforceable(pod, this.#options.dialect, this.#options);
    return message === undefined ? undefined : { reason: 'AppArmor', message };
  }

  forget(uid: string): void {
    this.#admitted.delete(uid);
    this.#waiting.delete(uid);
    this.#condemned.delete(uid);
  }

  #counts(uid: string): boolean {
    return this.#admitted.has(uid) || this.#options.isKnown(uid);
  }

  #judge(pod: Pod, node: Node): Refusal | undefined {
    return refusal(this.#input(pod, node));
  }

  #input(pod: Pod, node: Node): AdmissionInput {
    const { dialect, allowedUnsafeSysctls, pods, isStatic } = this.#options;
    const others = pods().filter(({ metadata: { uid = '' }, status }) => {
      const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
      return uid !== pod.metadata.uid && !isOver && this.#counts(uid);
    });
    return {
      ...{ dialect, pod, node, others, allowedUnsafeSysctls },
      isStatic: isStatic(pod.metadata.uid ?? ''),
    };
  }
}
