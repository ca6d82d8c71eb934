/** Why no container of a pod has started: node, volumes, sandbox. */
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { claimCauses } from '#insight/questions/claim.js';
import { nodeCauses } from '#insight/questions/node.js';
import { eventEvidence, finding } from '#insight/questions/parts.js';
import { missingReference } from '#insight/questions/references.js';

export async function startFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  if (hasStarted(pod)) return [];
  const node = (await nodeCauses(inquiry, pod)).filter(({ reason }) => stopping.has(reason));
  if (node.length > 0) {
    const summary = `Node ${pod.spec.nodeName ?? ''} cannot start the pod.`;
    return [finding({ subject, reason: 'NodeCannotStart', summary, causes: node })];
  }
  const volumes = await volumeFindings(inquiry, pod, subject);
  if (volumes.length > 0) return volumes;
  const events = await inquiry.events(subject);
  const sandbox = lastProblem(events, ['FailedCreatePodSandBox', 'NetworkNotReady']);
  if (sandbox !== undefined) return [sandboxFinding(subject, sandbox)];
  const mount = lastProblem(events, ['FailedMount', 'FailedAttachVolume', 'FailedMapVolume']);
  if (mount === undefined) return [];
  return [
    finding({
      subject,
      reason: 'VolumeNotMounted',
      summary: 'A volume of the pod cannot be mounted.',
      evidence: [eventEvidence(mount)],
      remedies: [{ action: 'Check the volume that the event names, and its driver on the node.' }],
    }),
  ];
}

/** What of a node keeps pods that are already there from starting. */
const stopping = new Set([
  'NodeSilent',
  'NodeMissing',
  'RuntimeDown',
  'NodeNetworkUnavailable',
  'NodeNotReady',
  'NodeShutdown',
]);

function hasStarted({ status }: Pod): boolean {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.some(({ state, restartCount }) => {
    const { running, terminated, waiting } = state ?? {};
    const isPulled =
      waiting !== undefined && !['ContainerCreating', 'PodInitializing', undefined, ''].includes(waiting.reason);
    return running !== undefined || terminated !== undefined || isPulled || restartCount > 0;
  });
}

/** The newest event with one of the reasons, unless a later one says that the problem is over. */
function lastProblem(events: readonly Event[], reasons: readonly string[]): Event | undefined {
  for (const event of events) {
    if (reasons.includes(event.reason ?? '')) return event;
    if (['Pulling', 'Pulled', 'Created', 'Started', 'SandboxChanged'].includes(event.reason ?? '')) return undefined;
  }
  return undefined;
}

function sandboxFinding(subject: Subject, event: Event): Finding {
  const text = event.message ?? '';
  const isNetwork = event.reason === 'NetworkNotReady' || /cni|network/i.test(text);
  return finding({
    subject,
    reason: isNetwork ? 'PodNetworkFailed' : 'SandboxFailed',
    summary: isNetwork
      ? "The network plugin cannot set up the pod's network."
      : "The runtime cannot create the pod's sandbox.",
    evidence: [eventEvidence(event)],
    remedies: [
      {
        action: isNetwork
          ? "Check the network plugin's configuration and free addresses on the node."
          : 'Check the runtime on the node: its log, its configuration, and the image of sandboxes.',
      },
    ],
  });
}

/** Objects that volumes need and that are missing. */
async function volumeFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const { namespace = '' } = pod.metadata;
  const all: Finding[] = [];
  const missing = async (
    type: typeof configmaps | typeof secrets,
    name: string,
    volume: string,
    keys: readonly string[],
  ) => {
    const problem = await missingReference(inquiry, subject, {
      type,
      name,
      namespace,
      keys,
      at: `spec.volumes[${volume}]`,
    });
    if (problem !== undefined) all.push(problem);
  };
  for (const { name: volume, configMap, secret, projected, persistentVolumeClaim } of pod.spec.volumes ?? []) {
    const keysOf = (items: readonly { readonly key: string }[] = []) => items.map(({ key }) => key);
    if (configMap !== undefined && configMap.optional !== true)
      await missing(configmaps, configMap.name ?? '', volume, keysOf(configMap.items));
    if (secret !== undefined && secret.optional !== true)
      await missing(secrets, secret.secretName ?? '', volume, keysOf(secret.items));
    for (const source of projected?.sources ?? []) {
      if (source.configMap !== undefined && source.configMap.optional !== true)
        await missing(configmaps, source.configMap.name ?? '', volume, keysOf(source.configMap.items));
      if (source.secret !== undefined && source.secret.optional !== true)
        await missing(secrets, source.secret.name ?? '', volume, keysOf(source.secret.items));
    }
    if (persistentVolumeClaim !== undefined)
      all.push(...(await claimCauses(inquiry, persistentVolumeClaim.claimName, namespace)));
  }
  return all;
}
