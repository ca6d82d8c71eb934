/** The pod, container and node that a request is for. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

/** Throws 404. */
export async function findPod(reader: ObjectReader, namespace: string, name: string): Promise<Pod> {
  const cached = await reader.get(pods, namespace, name);
  // The cache may lag behind the pod's binding.
  const pod = (cached?.spec.nodeName ?? '') === '' ? await reader.get(pods, namespace, name, 'latest') : cached;
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
  return pod;
}

/** The requested container, or the only one. Throws 400 if it is ambiguous or does not exist. */
export function chooseContainer(pod: Pod, requested: string): string {
  const { name = '' } = pod.metadata;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const names = (of: readonly { name: string }[]) => of.map((container) => container.name);
  if (requested === '') {
    if (containers.length === 1) return containers[0]?.name ?? '';
    if (containers.length === 0) throw badRequest(`a container name must be specified for pod ${name}`);
    const init =
      initContainers.length === 0 ? '' : ` or one of the init containers: [${names(initContainers).join(' ')}]`;
    const debug =
      ephemeralContainers.length === 0
        ? ''
        : ` or one of the ephemeral containers: [${names(ephemeralContainers).join(' ')}]`;
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${names(containers).join(' ')}]${init}${debug}`,
    );
  }
  if ([...names(containers), ...names(initContainers), ...names(ephemeralContainers)].includes(requested))
    return requested;
  throw badRequest(`container ${requested} is not valid for pod ${name}`);
}

/** Throws 400 for an unbound pod. */
export function nodeOfPod(pod: Pod): string {
  const { nodeName = '' } = pod.spec;
  if (nodeName === '') throw badRequest(`pod ${pod.metadata.name ?? ''} does not have a host assigned`);
  return nodeName;
}
