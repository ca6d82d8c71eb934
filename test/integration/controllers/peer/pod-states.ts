/** Pod states reported by nodes in a situation. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { ContainerState, Pod, PodStatus } from '#api/core/v1/types.gen.js';
import { realClock as clock, formatTime } from '#apimachinery/clock.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { targetNode } from '#controllers/daemonset/placement.js';
import type { PodState, PodsStep } from '#test/integration/controllers/peer/situation.js';

const phases: Readonly<Record<PodState, string>> = {
  bound: 'Pending',
  ready: 'Running',
  unready: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  deleted: '',
};

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

function isIn(pod: Pod, state: PodState): boolean {
  const { phase } = pod.status ?? {};
  if (pod.metadata.deletionTimestamp !== undefined) return state !== 'deleted';
  if (phase === 'Succeeded' || phase === 'Failed') return state !== 'deleted';
  switch (state) {
    case 'bound':
      return (pod.spec.nodeName ?? '') !== '';
    case 'ready':
      return isReady(pod);
    case 'unready':
      return phase === 'Running' && !isReady(pod);
    default:
      return false;
  }
}

const order = new Intl.Collator('en', { numeric: true });

/** A generated name. */
const madeUp = /-[bcdfghjklmnpqrstvwxz2456789]{5}$/;
const orderedName = ({ metadata: { name = '' } }: Pod) => (madeUp.test(name) ? '' : name);

/** The pods of the step, in order: by name, generated names by age. Pure. */
export function podsOf(all: readonly Pod[], { pods: state, named = '', first }: PodsStep): Pod[] {
  return all
    .filter((pod) => (pod.metadata.name ?? '').startsWith(named) && !isIn(pod, state))
    .sort((a, b) => order.compare(orderedName(a), orderedName(b)))
    .slice(0, first);
}

function statusOf(state: PodState, exitCode: number, ip: string): PodStatus {
  const now = formatTime(clock.now());
  const condition = (type: string, isTrue: boolean) => ({
    ...{ type, status: isTrue ? 'True' : 'False', lastTransitionTime: now },
  });
  const ended = { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: now } };
  const running: ContainerState = { running: { startedAt: now } };
  const over = state === 'succeeded' || state === 'failed';
  const ready = state === 'ready';
  return {
    phase: phases[state],
    startTime: now,
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [
      condition('Initialized', true),
      condition('Ready', ready),
      condition('ContainersReady', ready),
      condition('PodScheduled', true),
    ],
    containerStatuses: [
      { name: 'c', image: 'i', imageID: '', ready, restartCount: 0, started: !over, state: over ? ended : running },
    ],
  };
}

export class PodStates {
  readonly #client: Client;
  #addresses = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Ignores a deleted pod. */
  async set(pod: Pod, step: PodsStep): Promise<void> {
    try {
      await this.#set(pod, step);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  async #set(pod: Pod, { pods: state, node, exitCode }: PodsStep): Promise<void> {
    const { name = '', namespace = '' } = pod.metadata;
    const client = this.#client.resource(pods);
    if (state === 'deleted') return client.delete(name, { namespace });
    if ((pod.spec.nodeName ?? '') === '') {
      const target = { kind: 'Node', name: node ?? targetNode(pod) ?? 'n1' };
      try {
        await client.createSubresource(name, 'binding', { metadata: { name }, target }, { namespace });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
    if (state === 'bound') return;
    this.#addresses += 1;
    const ip = pod.status?.podIP ?? `10.1.${this.#addresses >> 8}.${this.#addresses & 255}`;
    const status = statusOf(state, exitCode ?? (state === 'failed' ? 1 : 0), ip);
    await client.patch(name, { status }, { type: 'strategic', namespace, subresource: 'status' });
  }
}
