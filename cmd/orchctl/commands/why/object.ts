/** `orchctl why TYPE NAME`: why an object is stuck. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { ApiObject } from '#client/client.js';
import { parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { answerText } from '#cmd/orchctl/commands/why/object-text.js';
import { ApiObservations } from '#cmd/orchctl/commands/why/observations.js';
import { objectText } from '#cmd/orchctl/print/object.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import { type Answer, type Finding, rootCauses } from '#insight/inquiry/finding.js';
import { readTypeOf, why } from '#insight/why.js';
import type { Explanation } from '#scheduler/explain/explanation.js';

/** Explains a pod's placement in the state of the cluster. */
export type Explain = (pod: Pod) => Promise<Explanation>;

/** Undefined where only the scheduler has an answer: an existing pod that fits nowhere. */
export async function explainObject(invocation: Invocation, explain: Explain): Promise<number | undefined> {
  const { api, args, clock, out, values } = invocation;
  const catalog = await api.catalog();
  const [target, more] = parseTargets(catalog, args);
  const [name, ...others] = target?.names ?? [];
  if (target === undefined || name === undefined || others.length > 0 || more !== undefined)
    throw new UsageError('name one object: orchctl why TYPE NAME');
  const { resource } = target;
  const client = await api.client(catalog.dialect);
  const placement = (pod: Pod) => explain(pod).then((explanation) => placementFindings(pod, explanation));
  const observations = new ApiObservations({ api, client, clock, placement });
  const object = await existing(invocation, resource, name, observations);
  const answer = await why(catalog.dialect, observations, resource.kind, object);
  if (isForScheduler(resource, object, answer)) return undefined;
  const form = values.string('output');
  out.write(form === 'json' || form === 'yaml' ? objectText(answer, form) : answerText(answer));
  return 0;
}

/** In the version that its question expects, where there is one. */
async function existing(
  { api, namespace }: Invocation,
  resource: ServedResource,
  name: string,
  observations: ApiObservations,
): Promise<ApiObject> {
  const type = readTypeOf(resource.kind);
  const scope = resource.namespaced ? namespace : undefined;
  if (type !== undefined && type.resource === resource.resource) {
    const object = await observations.get(type, name, scope);
    if (object !== undefined) return { ...object, kind: type.kind };
  }
  return api.get(resource, name, { namespace: scope });
}

/** A pod without a node, or of a node that does not exist: the scheduler knows more, down to the changes that would help. */
function isForScheduler({ kind, group }: ServedResource, object: ApiObject, { findings }: Answer): boolean {
  if (kind !== 'Pod' || group !== '' || object.metadata.deletionTimestamp !== undefined) return false;
  const { spec, status } = object as Pod;
  if ((status?.phase ?? 'Pending') !== 'Pending') return false;
  if ((spec.nodeName ?? '') !== '') return rootCauses(findings).some(({ reason }) => reason === 'NodeMissing');
  return !findings.some(({ reason }) => reason === 'SchedulerSilent');
}

/** One finding for each reason why nodes refuse the pod. */
function placementFindings(pod: Pod, { refused, remedies }: Explanation): Finding[] {
  const { name = '', namespace = '' } = pod.metadata;
  const actions = remedies.slice(0, 3).map(({ text, node }) => ({
    action: `${text.charAt(0).toUpperCase()}${text.slice(1)}${node === undefined ? '' : `; node ${node} can then take the pod`}.`,
  }));
  return refused.map(({ plugin, nodes, reasons, facts, examples, shortages = [] }, i) => ({
    subject: { kind: 'Pod', namespace, name },
    reason: plugin,
    summary: `${nodes === 1 ? `Node ${examples[0] ?? ''} refuses` : `${nodes} nodes refuse`} the pod: ${reasons.join(', ')}.`,
    evidence: [
      ...shortages.map(({ resource, requested, free, of }) => ({
        source: 'status' as const,
        of: { kind: 'Node', name: examples[0] ?? '' },
        at: 'status.allocatable',
        text: `${resource}: requested ${requested}, at best ${free} free of ${of}`,
      })),
      ...(facts === undefined
        ? []
        : [{ source: 'spec' as const, of: { kind: 'Node', name: examples[0] ?? '' }, at: 'spec', text: facts }]),
    ],
    remedies: i === 0 ? actions : [],
    causes: [],
  }));
}
