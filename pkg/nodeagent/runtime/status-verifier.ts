/**
 * Asks a runtime of single sandboxes and containers, and believes it where its answers agree: a listing and a status may
 * differ for a moment, because what they tell of goes on meanwhile, but it only ever goes forward.
 */
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus, RuntimeService } from '#nodeagent/cri/cri.js';
import { isCRIError } from '#nodeagent/cri/errors.js';

/** The runtime has told two things of which one is untrue. */
export class ContradictionError extends Error {
  override readonly name = 'ContradictionError';
}

interface Told {
  readonly id: string;
  readonly state: string;
}

/** States that nobody knows are in no order. */
const order: Readonly<Record<string, number>> = {
  SANDBOX_READY: 0,
  SANDBOX_NOTREADY: 1,
  CONTAINER_CREATED: 0,
  CONTAINER_RUNNING: 1,
  CONTAINER_EXITED: 2,
};

type Asked = Pick<RuntimeService, 'podSandboxStatus' | 'listPodSandbox' | 'containerStatus' | 'listContainers'>;

export class Inquiry {
  readonly #cri: Asked;

  constructor(cri: Asked) {
    this.#cri = cri;
  }

  /** Of a sandbox that was listed; undefined when it is gone since. Throws ContradictionError and CRIError. */
  listedSandbox(listed: PodSandbox): Promise<PodSandboxStatus | undefined> {
    const again = () => this.#cri.listPodSandbox({ id: listed.id });
    return agreed(listed, () => this.sandbox(listed.id), again);
  }

  /** Of a container that was listed; undefined when it is gone since. Throws ContradictionError and CRIError. */
  listedContainer(listed: Container): Promise<ContainerStatus | undefined> {
    const again = () => this.#cri.listContainers({ id: listed.id });
    return agreed(listed, () => this.container(listed.id), again);
  }

  /** Undefined when there is none. Throws ContradictionError and CRIError. */
  sandbox(id: string): Promise<PodSandboxStatus | undefined> {
    return status(id, () => this.#cri.podSandboxStatus(id));
  }

  /** Undefined when there is none. Throws ContradictionError and CRIError. */
  container(id: string): Promise<ContainerStatus | undefined> {
    return status(id, () => this.#cri.containerStatus(id));
  }
}

async function status<T extends Told>(id: string, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    const told = await ask();
    if (told.id !== id) throw new ContradictionError(`asked for ${id}, the runtime tells of ${told.id}`);
    return told;
  } catch (error) {
    if (isCRIError(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function agreed<T extends Told>(
  listed: Told,
  ask: () => Promise<T | undefined>,
  listAgain: () => Promise<readonly Told[]>,
): Promise<T | undefined> {
  const told = await ask();
  if (told?.state === listed.state) return told;
  const later = (await listAgain()).find(({ id }) => id === listed.id);
  if (later === undefined && told === undefined) return undefined;
  const [from, to] = [order[told?.state ?? ''], order[later?.state ?? '']];
  const isForward = from === undefined || to === undefined || from <= to;
  if (told !== undefined && later !== undefined && isForward) return told;
  const lists = `${listed.state}, then ${later?.state ?? 'nothing'}`;
  throw new ContradictionError(`the runtime lists ${listed.id} as ${lists}, and tells of ${told?.state ?? 'nothing'}`);
}
