/** emptyDir volumes: on the node's disk, in memory, or of huge pages. */
import { isHugePages } from '#api/core/v1/resources/names.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { canonicalQuantity, compareQuantities, isQuantity, value } from '#apimachinery/quantity.js';
import { mountOnce } from '#nodeagent/files/mounts.js';
import { podCgroupLimits } from '#nodeagent/resources/container-resources.js';
import { makeWritableDirectory } from '#nodeagent/volumes/pod-directories.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

export interface EmptyDir {
  readonly dir: string;
  /** The API's value: empty, `Memory`, `HugePages` or `HugePages-<size>`. */
  readonly medium: string;
  /** Limit in memory; undefined: the kernel's default, half of the machine's memory. */
  readonly bytes?: number | undefined;
}

/** Creates the directory; containers of any user, or of the pod's group, may write to it. Throws VolumeError. */
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
  // The kernel makes the root of a tmpfs sticky; keep that.
  if (medium !== '' || group !== undefined) await makeWritableDirectory(dir, { group, sticky: medium === 'Memory' });
}

/**
 * The limit of a memory volume: the minimum of the node's allocatable memory, the pod's limit and the volume's own, as
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

/** The page size of a medium. Throws VolumeError if the pod requests none, or several. Pure. */
export function pageSize({ spec }: Pod, medium: string): string {
  const sizeOfMedium = medium.slice(mediumPrefix.length);
  if (medium !== 'HugePages' && !(medium.startsWith(mediumPrefix) && isQuantity(sizeOfMedium)))
    throw new VolumeError(`unknown storage medium ${JSON.stringify(medium)}`);
  const sizes = [...spec.containers, ...(spec.initContainers ?? [])]
    .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
    .filter((name) => isHugePages(name))
    .map((name) => name.slice(resourcePrefix.length))
    .filter((size) => isQuantity(size) && (medium === 'HugePages' || compareQuantities(size, sizeOfMedium) === 0));
  const [size, ...others] = sizes;
  if (size === undefined) {
    const why = 'hugePages storage requested, but there is no resource request for huge pages';
    throw new VolumeError(`medium ${medium}: ${why}`);
  }
  if (others.some((other) => compareQuantities(other, size) !== 0))
    throw new VolumeError(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  return canonicalQuantity(size);
}
