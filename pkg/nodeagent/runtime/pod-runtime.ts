/** What a runtime holds of one pod, as the node agent sees it. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { ContainerStatus, PodSandboxStatus } from '#nodeagent/cri/cri.js';

export interface RuntimeContainer extends ContainerStatus {
  readonly podSandboxId: string;
}

export interface PodRuntime {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The newest first. */
  readonly sandboxes: readonly PodSandboxStatus[];
  /** The newest first. */
  readonly containers: readonly RuntimeContainer[];
}

/** The newest container of that name. */
export function newestContainer(runtime: PodRuntime, name: string): RuntimeContainer | undefined {
  return runtime.containers.find((container) => container.metadata.name === name);
}

/** All containers of that name, the newest first. */
export function containersNamed(runtime: PodRuntime, name: string): RuntimeContainer[] {
  return runtime.containers.filter((container) => container.metadata.name === name);
}

export function isRunning(container: Pick<ContainerStatus, 'state'> | undefined): boolean {
  return container?.state === 'CONTAINER_RUNNING';
}

/** Nothing in it runs any more. */
export function isStopped(runtime: PodRuntime): boolean {
  return (
    !runtime.containers.some((container) => isRunning(container)) &&
    !runtime.sandboxes.some((sandbox) => sandbox.state === 'SANDBOX_READY')
  );
}

/** The pod's addresses: those of its newest sandbox while that is ready. */
export function podIPs(runtime: PodRuntime): readonly string[] {
  const newest = runtime.sandboxes[0];
  return newest?.state === 'SANDBOX_READY' ? newest.ips : [];
}

/** Of a pod that the runtime does not know. */
export function emptyRuntime({ metadata }: Pod): PodRuntime {
  const { uid = '', name = '', namespace = '' } = metadata;
  return { uid, name, namespace, sandboxes: [], containers: [] };
}
