/** Files that the node agent creates for containers: `/etc/hosts`, the termination message, sub-paths of volumes. */
import { chmod, lstat, mkdir, open, readFile, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Container, Pod, VolumeMount } from '#api/core/v1/types.gen.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Device, Mount, MountPropagation } from '#nodeagent/cri/cri.js';
import { ContainerConfigError, expand } from '#nodeagent/environment/environment.js';
import { hostsFile } from '#nodeagent/environment/hosts-file.js';
import { bindMount, MountRefusedError, mountsOn, unmount } from '#nodeagent/files/mounts.js';
import { openBeneath } from '#nodeagent/files/open-beneath.js';
import { replaceIfChanged } from '#nodeagent/files/regular-file.js';
import type { MountedVolume } from '#nodeagent/volumes/mounted-volume.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';

export interface ContainerFilesInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  readonly environment: ReadonlyMap<string, string>;
  readonly podIPs: readonly string[];
  readonly hostname: string;
  readonly hostDomain: string;
  readonly productName: string;
  readonly log: Logger;
}

const hostsPath = '/etc/hosts';
const defaultTerminationPath = '/dev/termination-log';

const propagations: Readonly<Record<string, MountPropagation>> = {
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
};

/** The host path of a container's termination message. */
export function terminationMessageFile(
  directories: PodDirectories,
  podUID: string,
  container: string,
  attempt: number,
): string {
  return join(directories.container(podUID, container), String(attempt));
}

/** The mounts of a container; creates their source files. Throws ContainerConfigError. */
export async function containerMounts(input: ContainerFilesInput, directories: PodDirectories): Promise<Mount[]> {
  const { container } = input;
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    mounts.push(await volumeMount(mount, index, input, directories));
  }
  const paths = new Set(mounts.map((mount) => mount.containerPath));
  if (!paths.has(hostsPath)) mounts.push(await hostsMount(input, directories));
  const terminationPath = container.terminationMessagePath ?? defaultTerminationPath;
  if (terminationPath !== '' && !paths.has(terminationPath)) {
    mounts.push(await terminationMount(input, directories, terminationPath));
  }
  return mounts;
}

async function volumeMount(
  mount: VolumeMount,
  index: number,
  input: ContainerFilesInput,
  directories: PodDirectories,
): Promise<Mount> {
  const { pod, container, volumes } = input;
  const volume = volumes.get(mount.name);
  if (volume?.kind !== 'files') {
    throw new ContainerConfigError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  }
  const root = volume.path;
  const expression = mount.subPathExpr ?? '';
  const subPath = expression === '' ? (mount.subPath ?? '') : expandStrictly(expression, input);
  const target = directories.subPath(pod.metadata.uid ?? '', volume.specName ?? mount.name, container.name, index);
  return {
    containerPath: posix.isAbsolute(mount.mountPath) ? mount.mountPath : posix.join('/', mount.mountPath),
    hostPath: subPath === '' ? root : await subPathMount({ root, subPath, target, mount }, input),
    readonly: mount.readOnly === true || volume.readOnly,
    ...(volume.relabels === true ? { selinuxRelabel: true } : {}),
    propagation: propagations[mount.mountPropagation ?? ''] ?? 'PROPAGATION_PRIVATE',
  };
}

/** The volumes in mode `Block` of a container, as devices. Throws ContainerConfigError. */
export function containerDevices(container: Container, volumes: ReadonlyMap<string, MountedVolume>): Device[] {
  return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    if (!posix.isAbsolute(devicePath))
      throw new ContainerConfigError(`error DevicePath \`${devicePath}\` must be an absolute path`);
    const volume = volumes.get(name);
    if (volume?.kind !== 'device')
      throw new ContainerConfigError(`cannot find volume "${name}" to pass into container "${container.name}"`);
    return { hostPath: volume.path, containerPath: devicePath, permissions: volume.readOnly ? 'r' : 'mrw' };
  });
}

function expandStrictly(expression: string, input: ContainerFilesInput): string {
  return expand(expression, input.environment, () => {
    throw new ContainerConfigError(`missing value for "${expression}"`);
  });
}

interface SubPath {
  readonly root: string;
  readonly subPath: string;
  /** Mount point on the host, which the runtime gets. */
  readonly target: string;
  readonly mount: VolumeMount;
}

/**
 * Bind-mounts a sub-path of a volume, creating it if missing, so that no container can replace the path with a link.
 * Details of failures go to the agent's log only, as in release 1.24: they could reveal the host's files.
 */
async function subPathMount({ root, subPath, target, mount }: SubPath, input: ContainerFilesInput): Promise<string> {
  if (posix.isAbsolute(subPath)) {
    throw new ContainerConfigError(`error SubPath \`${subPath}\` must not be an absolute path`);
  }
  if (subPath.split('/').includes('..')) {
    throw new ContainerConfigError(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  }
  try {
    const { mode } = await stat(root);
    const part = await openBeneath(root, subPath, { makeMode: mode });
    try {
      await makeMountPoint(target, (await part.stat()).isDirectory());
      await bindMount(part, target);
    } finally {
      await part.close();
    }
    return target;
  } catch (error) {
    const { container, log } = input;
    log.error({ err: error, container: container.name, volume: mount.name }, 'failed to prepare a subPath');
    const why = error instanceof MountRefusedError ? `: ${error.message}` : '';
    throw new ContainerConfigError(
      `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}"${why}`,
      { cause: error },
    );
  }
}

/** Creates an empty directory or file to mount over; reuses that of an earlier run if it has the same type. */
async function makeMountPoint(path: string, isDirectory: boolean): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  const existing = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (existing !== undefined && existing.isDirectory() === isDirectory) return;
  if (existing !== undefined) {
    for (const point of await mountsOn(path)) await unmount(point);
    await (isDirectory ? rm(path) : rmdir(path));
  }
  if (isDirectory) await mkdir(path, { mode: 0o750 });
  else await (await open(path, 'wx', 0o640)).close();
}

async function hostsMount(input: ContainerFilesInput, directories: PodDirectories): Promise<Mount> {
  const { pod, podIPs, hostname, hostDomain, productName } = input;
  const hostFile = pod.spec.hostNetwork === true ? await readFile(hostsPath, 'utf8') : '';
  const path = join(directories.pod(pod.metadata.uid ?? ''), 'etc-hosts');
  await mkdir(directories.pod(pod.metadata.uid ?? ''), { recursive: true, mode: 0o750 });
  await replaceIfChanged(path, hostsFile({ pod, podIPs, hostname, hostDomain, hostFile, productName }), 0o644);
  return { containerPath: hostsPath, hostPath: path, readonly: false, propagation: 'PROPAGATION_PRIVATE' };
}

async function terminationMount(input: ContainerFilesInput, directories: PodDirectories, at: string): Promise<Mount> {
  const uid = input.pod.metadata.uid ?? '';
  await mkdir(directories.container(uid, input.container.name), { recursive: true, mode: 0o755 });
  const path = terminationMessageFile(directories, uid, input.container.name, input.attempt);
  await (await open(path, 'w')).close();
  // Every user in the container must be able to write it.
  await chmod(path, 0o666);
  return { containerPath: at, hostPath: path, readonly: false, propagation: 'PROPAGATION_PRIVATE' };
}
