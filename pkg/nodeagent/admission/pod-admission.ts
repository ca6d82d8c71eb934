/** Admits the pods of a node one after the other; running pods are already admitted. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unenforceable } from '#nodeagent/admission/app-armor.js';
import {
  type AdmissionInput,
  forbiddenSysctls,
  isCriticalPod,
  lacking,
  type Refusal,
  refusal,
} from '#nodeagent/admission/plan.js';
import { PreemptionError, podsToPreempt } from '#nodeagent/admission/preemption.js';
import type { Allocations } from '#nodeagent/allocation/allocations.js';

export interface PodAdmissionOptions {
  readonly dialect: Dialect;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the machine's kernel has AppArmor enabled. */
  readonly appArmor: boolean;
  /** The node as last seen. */
  readonly node: () => Node;
  /** The current node, from the API. */
  readonly refreshNode: () => Promise<Node>;
  /** All pods of the node, with their newest statuses. */
  readonly pods: () => readonly Pod[];
  /** Whether the runtime has a sandbox or container of the pod with that UID. */
  readonly isKnown: (uid: string) => boolean;
  /** Why the node rejects pods at the moment; undefined if it does not reject this one. */
  readonly underPressure: (pod: Pod, isCritical: boolean) => Refusal | undefined;
  /** Whether the pod with that UID is static. */
  readonly isStatic: (uid: string) => boolean;
  /** Ends the pod with that UID, because a critical pod lacks `resource`. */
  readonly preempt: (uid: string, resource: string) => void;
  /** Why no new pod may start, whatever it is; undefined: pods may start. */
  readonly closed?: () => Refusal | undefined;
  readonly allocations: Pick<Allocations, 'admit' | 'withdraw' | 'forget' | 'sufficient'>;
}

export type AdmissionVerdict =
  | { readonly type: 'admitted' }
  | { readonly type: 'refused'; readonly refusal: Refusal }
  /** Other pods are being preempted for this pod. */
  | { readonly type: 'waiting' };

const admitted: AdmissionVerdict = { type: 'admitted' };

export class PodAdmission {
  readonly #options: PodAdmissionOptions;
  readonly #admitted = new Set<string>();
  /** Admitted pods that wait for preempted ones to end. */
  readonly #waiting = new Set<string>();
  /** Preempted pods. */
  readonly #condemned = new Set<string>();

  constructor(options: PodAdmissionOptions) {
    this.#options = options;
  }

  /** Decides whether the pod may run here; unless refused, its requests count from now on. Throws StatusError. */
  async admit(pod: Pod): Promise<AdmissionVerdict> {
    const { allocations, allowedUnsafeSysctls, underPressure, isStatic } = this.#options;
    const uid = pod.metadata.uid ?? '';
    const isUnknown = !this.#counts(uid) || this.#waiting.has(uid);
    if (!this.#counts(uid)) {
      const pressed = underPressure(pod, isCriticalPod({ pod, isStatic: isStatic(uid) }));
      if (pressed !== undefined) return { type: 'refused', refusal: pressed };
    }
    const forbidden = isUnknown ? forbiddenSysctls(pod, allowedUnsafeSysctls) : undefined;
    if (forbidden !== undefined) return { type: 'refused', refusal: forbidden };
    const closed = isUnknown ? this.#options.closed?.() : undefined;
    if (closed !== undefined) return { type: 'refused', refusal: closed };
    // Before the other checks, and also for pods that already run, as in 1.24.
    const unallocated = await allocations.admit(pod);
    if (unallocated !== undefined) return { type: 'refused', refusal: unallocated };
    const verdict = isUnknown ? await this.#verdict(pod) : admitted;
    if (verdict.type === 'refused') allocations.withdraw(uid);
    if (verdict.type !== 'admitted') return verdict;
    this.#admitted.add(uid);
    this.#waiting.delete(uid);
    return verdict;
  }

  async #verdict(pod: Pod): Promise<AdmissionVerdict> {
    const { node, refreshNode } = this.#options;
    if (this.#refusalOf(pod, node()) === undefined) return admitted;
    // The scheduler may have seen a newer version of the node.
    const newest = await this.#newestNode(pod, refreshNode);
    const refused = this.#refusalOf(pod, newest);
    return refused === undefined ? admitted : this.#makeRoom(pod, newest, refused);
  }

  /** Preempts other pods for a critical one that only lacks resources. */
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
      const messagePrefix = 'Unexpected error while attempting to recover from admission failure';
      const message = `${messagePrefix}: preemption: error finding a set of pods to preempt: ${error.message}`;
      return { type: 'refused', refusal: { reason: 'UnexpectedAdmissionError', message } };
    }
    // Reserve the freed resources for this pod.
    this.#admitted.add(uid);
    this.#waiting.add(uid);
    return { type: 'waiting' };
  }

  /** Static pods are admitted without the API if it does not answer. */
  async #newestNode(pod: Pod, refreshNode: () => Promise<Node>): Promise<Node> {
    const { node, isStatic } = this.#options;
    if (!isStatic(pod.metadata.uid ?? '')) return refreshNode();
    return refreshNode().catch(() => node());
  }

  /** Why the pod must wait; undefined if it need not. A pod that has run continues. */
  blocked(pod: Pod): Refusal | undefined {
    if ((pod.status?.phase ?? 'Pending') !== 'Pending') return undefined;
    const message = unenforceable(pod, this.#options.dialect, this.#options);
    return message === undefined ? undefined : { reason: 'AppArmor', message };
  }

  forget(uid: string): void {
    this.#admitted.delete(uid);
    this.#waiting.delete(uid);
    this.#condemned.delete(uid);
    this.#options.allocations.forget(uid);
  }

  #counts(uid: string): boolean {
    return this.#admitted.has(uid) || this.#options.isKnown(uid);
  }

  #refusalOf(pod: Pod, node: Node): Refusal | undefined {
    return refusal(this.#input(pod, node));
  }

  #input(pod: Pod, seen: Node): AdmissionInput {
    const { dialect, allowedUnsafeSysctls, pods, isStatic, allocations } = this.#options;
    const allocatable = allocations.sufficient(pod.metadata.uid ?? '', seen.status?.allocatable ?? {});
    const node = { ...seen, status: { ...seen.status, allocatable } };
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
