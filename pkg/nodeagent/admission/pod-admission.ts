/** Admits the pods of a node one after the other; what runs already is admitted. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unenforceable } from '#nodeagent/admission/app-armor.js';
import { type Refusal, refusal } from '#nodeagent/admission/plan.js';

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
}

export class PodAdmission {
  readonly #options: PodAdmissionOptions;
  readonly #admitted = new Set<string>();

  constructor(options: PodAdmissionOptions) {
    this.#options = options;
  }

  /** Why the pod is not to run here; undefined when it may, and is counted from now on. Throws StatusError. */
  async refusal(pod: Pod): Promise<Refusal | undefined> {
    const { node, refreshNode } = this.#options;
    const uid = pod.metadata.uid ?? '';
    if (!this.#counts(uid) && this.#judge(pod, node()) !== undefined) {
      // The scheduler may have seen the node later than this agent has.
      const refused = this.#judge(pod, await this.#newestNode(pod, refreshNode));
      if (refused !== undefined) return refused;
    }
    this.#admitted.add(uid);
    return undefined;
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
  }

  #counts(uid: string): boolean {
    return this.#admitted.has(uid) || this.#options.isKnown(uid);
  }

  #judge(pod: Pod, node: Node): Refusal | undefined {
    const { dialect, allowedUnsafeSysctls, pods, isStatic } = this.#options;
    const others = pods().filter(({ metadata: { uid = '' }, status }) => {
      const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
      return uid !== pod.metadata.uid && !isOver && this.#counts(uid);
    });
    return refusal({
      ...{ dialect, pod, node, others, allowedUnsafeSysctls },
      isStatic: isStatic(pod.metadata.uid ?? ''),
    });
  }
}
