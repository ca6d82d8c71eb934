/** Which container of which pod a request is for. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { badRequest, notFound } from '#apimachinery/errors/status.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';

/** Throws 404. */
export async function findPod(reader: ObjectReader, namespace: string, name: string): Promise<Pod> {
  const cached = await reader.get(pods, namespace, name);
  // A pod that was bound a moment ago may still look unbound here.
  const pod = (cached?.spec.nodeName ?? '') === '' ? await reader.get(pods, namespace, name, 'latest') : cached;
  if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
  return pod;
}

/** The asked container, or the only one. Throws 400 when it is not clear, or is not the pod's. */
export function chooseContainer(pod: Pod, asked: string): string {
  const { name = '' } = pod.metadata;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const names = (of: readonly { name: string }[]) => of.map((container) => container.name);
  if (asked === '') {
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
  if ([...names(containers), ...names(initContainers), ...names(ephemeralContainers)].includes(asked)) return asked;
  throw badRequest(`container ${asked} is not valid for pod ${name}`);
}

/** The node that the pod runs on. Throws 400 while there is none. */
export function nodeOfPod(pod: Pod): string {
  const { nodeName = '' } = pod.spec;
  if (nodeName === '') throw badRequest(`pod ${pod.metadata.name ?? ''} does not have a host assigned`);
  return nodeName;
}
