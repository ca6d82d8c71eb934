/** Files that the node agent makes for containers: `/etc/hosts`, the termination message, sub-paths of volumes. */
import { chmod, lstat, mkdir, open, readFile, realpath, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Container, Pod, VolumeMount } from '#api/core/v1/types.gen.js';
import type { Mount, MountPropagation } from '#nodeagent/cri/cri.js';
import { ContainerConfigError } from '#nodeagent/environment/environment.js';
import { expand } from '#nodeagent/environment/expansion.js';
import { hostsFile } from '#nodeagent/environment/hosts-file.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';

export interface ContainerFilesInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly volumes: ReadonlyMap<string, string>;
  readonly environment: ReadonlyMap<string, string>;
  readonly podIPs: readonly string[];
  readonly hostname: string;
  readonly hostDomain: string;
  readonly agentName: string;
}

const hostsPath = '/etc/hosts';
const defaultTerminationPath = '/dev/termination-log';
const maxTerminationBytes = 4096;

const propagations: Readonly<Record<string, MountPropagation>> = {
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
};

/** Where on the host a container's termination message is. */
export function terminationMessageFile(
  directories: PodDirectories,
  podUID: string,
  container: string,
  attempt: number,
): string {
  return join(directories.container(podUID, container), String(attempt));
}

/** What the container left there, at most 4 KiB; empty when nothing. */
export async function readTerminationMessage(path: string): Promise<string> {
  try {
    const bytes = await readFile(path);
    return bytes.subarray(0, maxTerminationBytes).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** The mounts of a container; makes the files that they need. Throws ContainerConfigError. */
export async function containerMounts(input: ContainerFilesInput, directories: PodDirectories): Promise<Mount[]> {
  const { container } = input;
  const mounts: Mount[] = [];
  for (const mount of container.volumeMounts ?? []) mounts.push(await volumeMount(mount, input));
  const paths = new Set(mounts.map((mount) => mount.containerPath));
  if (!paths.has(hostsPath)) mounts.push(await hostsMount(input, directories));
  const terminationPath = container.terminationMessagePath ?? defaultTerminationPath;
  if (terminationPath !== '' && !paths.has(terminationPath)) {
    mounts.push(await terminationMount(input, directories, terminationPath));
  }
  return mounts;
}

async function volumeMount(mount: VolumeMount, input: ContainerFilesInput): Promise<Mount> {
  const root = input.volumes.get(mount.name);
  if (root === undefined) {
    throw new ContainerConfigError(
      `cannot find volume "${mount.name}" to mount into container "${input.container.name}"`,
    );
  }
  const expression = mount.subPathExpr ?? '';
  const subPath = expression === '' ? (mount.subPath ?? '') : expandStrictly(expression, input);
  return {
    containerPath: posix.isAbsolute(mount.mountPath) ? mount.mountPath : posix.join('/', mount.mountPath),
    hostPath: subPath === '' ? root : await subPathOf(root, subPath),
    readonly: mount.readOnly === true,
    propagation: propagations[mount.mountPropagation ?? ''] ?? 'PROPAGATION_PRIVATE',
  };
}

function expandStrictly(expression: string, input: ContainerFilesInput): string {
  const text = expand(expression, input.environment);
  if (/\$\([^)]*\)/.test(text)) throw new ContainerConfigError(`missing value for "${expression}"`);
  return text;
}

/**
 * A path within a volume, made if missing. What a container wrote into the volume must not lead out of it, so the
 * result is checked after all links are followed.
 */
async function subPathOf(root: string, subPath: string): Promise<string> {
  if (posix.isAbsolute(subPath) || subPath.split('/').includes('..')) {
    throw new ContainerConfigError(`subPath "${subPath}" must be a relative path without '..'`);
  }
  const wanted = join(root, subPath);
  try {
    await lstat(wanted);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(wanted, { recursive: true, mode: 0o755 });
    await chmod(wanted, (await lstat(root)).mode & 0o7777);
  }
  const real = await realpath(wanted);
  const base = await realpath(root);
  if (real !== base && !real.startsWith(`${base}/`)) {
    throw new ContainerConfigError(`subPath "${subPath}" leads out of its volume`);
  }
  return real;
}

async function hostsMount(input: ContainerFilesInput, directories: PodDirectories): Promise<Mount> {
  const { pod, podIPs, hostname, hostDomain, agentName } = input;
  const hostFile = pod.spec.hostNetwork === true ? await readFile(hostsPath, 'utf8') : '';
  const path = join(directories.pod(pod.metadata.uid ?? ''), 'etc-hosts');
  await mkdir(directories.pod(pod.metadata.uid ?? ''), { recursive: true, mode: 0o750 });
  await writeFile(path, hostsFile({ pod, podIPs, hostname, hostDomain, hostFile, agentName }));
  await chmod(path, 0o644);
  return { containerPath: hostsPath, hostPath: path, readonly: false, propagation: 'PROPAGATION_PRIVATE' };
}

async function terminationMount(input: ContainerFilesInput, directories: PodDirectories, at: string): Promise<Mount> {
  const uid = input.pod.metadata.uid ?? '';
  await mkdir(directories.container(uid, input.container.name), { recursive: true, mode: 0o755 });
  const path = terminationMessageFile(directories, uid, input.container.name, input.attempt);
  await (await open(path, 'w')).close();
  // Any user in the container may write it.
  await chmod(path, 0o666);
  return { containerPath: at, hostPath: path, readonly: false, propagation: 'PROPAGATION_PRIVATE' };
}
