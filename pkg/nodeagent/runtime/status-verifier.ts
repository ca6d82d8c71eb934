/**
 * Reads the status of single sandboxes and containers and compares it with listings. The two may differ briefly while
 * the object changes, but states only move forward; any other difference is an error.
 */
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus, RuntimeService } from '#nodeagent/cri/cri.js';
import { isCRIError } from '#nodeagent/cri/errors.js';

/** Two answers of the runtime contradict each other. */
export class ContradictionError extends Error {
  override readonly name = 'ContradictionError';
}

interface ObjectState {
  readonly id: string;
  readonly state: string;
}

/** Position of each state in an object's life; unknown states have none. */
const order: Readonly<Record<string, number>> = {
  SANDBOX_READY: 0,
  SANDBOX_NOTREADY: 1,
  CONTAINER_CREATED: 0,
  CONTAINER_RUNNING: 1,
  CONTAINER_EXITED: 2,
};

type StatusSource = Pick<RuntimeService, 'podSandboxStatus' | 'listPodSandbox' | 'containerStatus' | 'listContainers'>;

export class StatusVerifier {
  readonly #cri: StatusSource;

  constructor(cri: StatusSource) {
    this.#cri = cri;
  }

  /** Status of a listed sandbox; undefined if it is gone. Throws ContradictionError and CRIError. */
  listedSandbox(listed: PodSandbox): Promise<PodSandboxStatus | undefined> {
    const again = () => this.#cri.listPodSandbox({ id: listed.id });
    return verifiedStatus(listed, () => this.sandbox(listed.id), again);
  }

  /** Status of a listed container; undefined if it is gone. Throws ContradictionError and CRIError. */
  listedContainer(listed: Container): Promise<ContainerStatus | undefined> {
    const again = () => this.#cri.listContainers({ id: listed.id });
    return verifiedStatus(listed, () => this.container(listed.id), again);
  }

  /** Undefined if there is none. Throws ContradictionError and CRIError. */
  sandbox(id: string): Promise<PodSandboxStatus | undefined> {
    return statusOf(id, () => this.#cri.podSandboxStatus(id));
  }

  /** Undefined if there is none. Throws ContradictionError and CRIError. */
  container(id: string): Promise<ContainerStatus | undefined> {
    return statusOf(id, () => this.#cri.containerStatus(id));
  }
}

async function statusOf<T extends ObjectState>(id: string, read: () => Promise<T>): Promise<T | undefined> {
  try {
    const result = await read();
    if (result.id !== id)
      throw new ContradictionError(`requested the status of ${id}, but the runtime returned that of ${result.id}`);
    return result;
  } catch (error) {
    if (isCRIError(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function verifiedStatus<T extends ObjectState>(
  listed: ObjectState,
  read: () => Promise<T | undefined>,
  listAgain: () => Promise<readonly ObjectState[]>,
): Promise<T | undefined> {
  const result = await read();
  if (result?.state === listed.state) return result;
  const relisted = (await listAgain()).find(({ id }) => id === listed.id);
  if (relisted === undefined && result === undefined) return undefined;
  const [from, to] = [order[result?.state ?? ''], order[relisted?.state ?? '']];
  const isForward = from === undefined || to === undefined || from <= to;
  if (result !== undefined && relisted !== undefined && isForward) return result;
  const lists = `${listed.state}, then ${relisted?.state ?? 'nothing'}`;
  throw new ContradictionError(
    `the runtime lists ${listed.id} as ${lists}, but its status is ${result?.state ?? 'nothing'}`,
  );
}
