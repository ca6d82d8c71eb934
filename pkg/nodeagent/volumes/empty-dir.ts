/** Directories that begin empty and go with their pod: on the node's disk, in memory, or of huge pages. */
import { isHugePages } from '#api/core/v1/resources/names.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { canonicalQuantity, compareQuantities, isQuantity, value } from '#apimachinery/quantity.js';
import { mountOnce } from '#nodeagent/files/mounts.js';
import { podCgroupLimits } from '#nodeagent/resources/container-resources.js';
import { makeWritableDirectory } from '#nodeagent/volumes/pod-directories.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

export interface EmptyDir {
  readonly dir: string;
  /** As in the API: empty, `Memory`, `HugePages` or `HugePages-<size>`. */
  readonly medium: string;
  /** What it may hold in memory; undefined: half of the machine's, which is the kernel's own limit. */
  readonly bytes?: number | undefined;
}

/** Makes the directory that containers of any user, or of the pod's group, may write to. Throws VolumeError. */
export async function makeEmptyDir(pod: Pod, { dir, medium, bytes }: EmptyDir): Promise<void> {
  const { fsGroup } = pod.spec.securityContext ?? {};
  const group = fsGroup === undefined ? undefined : Number(fsGroup);
  await makeWritableDirectory(dir);
  switch (medium) {
    case '':
      break;
    case 'Memory':
      await mountOnce({ type: 'tmpfs', dir, options: bytes === undefined ? [] : [`size=${bytes}`] });
      break;
    default:
      await mountOnce({ type: 'hugetlbfs', dir, options: [`pagesize=${pageSize(pod, medium)}`] });
  }
  // The root of a file system in memory is sticky, as the kernel makes it.
  if (medium !== '' || group !== undefined) await makeWritableDirectory(dir, { group, sticky: medium === 'Memory' });
}

/**
 * The limit of a volume in memory: the least of the node's allocatable memory, the pod's limit and the volume's own, as
 * with the gate SizeMemoryBackedVolumes of 1.24. Pure.
 */
export function memoryVolumeBytes(
  pod: Pod,
  sizeLimit: string | undefined,
  allocatable: Readonly<Record<string, string>>,
): number | undefined {
  const quota = { enforced: false, periodMicros: 100_000 };
  const { memoryBytes = 0 } = podCgroupLimits(pod, { quota, memoryQoS: false });
  const own = sizeLimit === undefined ? 0 : value(sizeLimit);
  const limits = [value(allocatable['memory'] ?? '0'), memoryBytes, own].filter((each) => each > 0);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

const mediumPrefix = 'HugePages-';
const resourcePrefix = 'hugepages-';

/** The size of the pages that a medium stands for. Throws VolumeError: the pod asks for none, or for several. Pure. */
export function pageSize({ spec }: Pod, medium: string): string {
  const wanted = medium.slice(mediumPrefix.length);
  if (medium !== 'HugePages' && !(medium.startsWith(mediumPrefix) && isQuantity(wanted)))
    throw new VolumeError(`unknown storage medium ${JSON.stringify(medium)}`);
  const sizes = [...spec.containers, ...(spec.initContainers ?? [])]
    .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
    .filter((name) => isHugePages(name))
    .map((name) => name.slice(resourcePrefix.length))
    .filter((size) => isQuantity(size) && (medium === 'HugePages' || compareQuantities(size, wanted) === 0));
  const [size, ...others] = sizes;
  if (size === undefined) {
    const why = 'hugePages storage requested, but there is no resource request for huge pages';
    throw new VolumeError(`medium ${medium}: ${why}`);
  }
  if (others.some((other) => compareQuantities(other, size) !== 0))
    throw new VolumeError(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  return canonicalQuantity(size);
}
