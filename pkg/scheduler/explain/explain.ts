/** Why a pod is where it is, or nowhere: the scheduler's own decision on a copy of its state, told in full. */

import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { hopelessNodes } from '#scheduler/decision/extenders.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Explanation, NodeRefusal, Outcome, Remedy } from '#scheduler/explain/explanation.js';
import { type AskedExtenders, Inquiry } from '#scheduler/explain/extenders.js';
import { factsOf } from '#scheduler/explain/facts.js';
import { preemptionOf } from '#scheduler/explain/preemption.js';
import { RefusalGroups, refusalOf } from '#scheduler/explain/refusals.js';
import { remediesFor } from '#scheduler/explain/remedies.js';
import { scoresOf } from '#scheduler/explain/scores.js';
import { type ClusterCopy, fitError } from '#scheduler/explain/snapshot.js';
import { manifestOf } from '#scheduler/explain/trial.js';
import type { Profile } from '#scheduler/framework/profile.js';

export interface ExplainOptions {
  readonly copy: ClusterCopy;
  readonly dialect: Dialect;
  readonly profiles: readonly Profile[];
  /** Those that the configuration names. */
  readonly extenders?: AskedExtenders;
  /** Nodes whose scores are told, the best ones. */
  readonly scores: number;
  /** Tell node by node: so many, beginning after that one, or of one node only. */
  readonly details?: { readonly limit: number; readonly after?: string } | { readonly node: string };
}

/** `pod` need not exist. */
export async function explain(pod: Pod, options: ExplainOptions): Promise<Explanation> {
  const { copy, profiles } = options;
  const info = podInfo(pod);
  const nodes = copy.cluster.nodes();
  const head = {
    pod: {
      namespace: info.namespace,
      name: pod.metadata.name ?? '',
      schedulerName: pod.spec.schedulerName ?? '',
      priority: info.priority,
    },
    nodes: { total: nodes.length, fitting: 0 },
    refused: [],
    scores: [],
  };
  const plain = (outcome: Outcome, message: string, remedies: readonly Remedy[] = []): Explanation => ({
    ...head,
    outcome,
    message,
    remedies,
  });
  const node = pod.spec.nodeName ?? '';
  if (
    pod.status?.phase === 'Succeeded' ||
    pod.status?.phase === 'Failed' ||
    pod.metadata.deletionTimestamp !== undefined
  ) {
    return plain('Ended', 'the pod has ended or is being deleted');
  }
  if (node !== '' && copy.cluster.node(node) === undefined) {
    const text = 'let the scheduler choose: leave spec.nodeName out';
    const remedy: Remedy = { text, changes: [{ action: 'replace', object: manifestOf(pod) }], checked: false };
    return { ...plain('NodeMissing', `the pod names node "${node}", which does not exist`, [remedy]), node };
  }
  if (node !== '') return { ...plain('Bound', `the pod is on node ${node}`), node };
  const profile = profiles.find(({ schedulerName }) => schedulerName === pod.spec.schedulerName);
  if (profile === undefined) return otherScheduler(pod, profiles, plain);
  return decide(info, profile, options, head);
}

function otherScheduler(
  pod: Pod,
  profiles: readonly Profile[],
  plain: (outcome: Outcome, message: string, remedies: readonly Remedy[]) => Explanation,
): Explanation {
  const [first] = profiles;
  const message = `the pod is left to scheduler "${pod.spec.schedulerName}"; this one places those of ${profiles
    .map(({ schedulerName }) => `"${schedulerName}"`)
    .join(', ')}`;
  if (first === undefined) return plain('OtherScheduler', message, []);
  const changed = { ...pod, spec: { ...pod.spec, schedulerName: first.schedulerName } };
  const text = `name the scheduler ${first.schedulerName}`;
  return plain('OtherScheduler', message, [
    { text, changes: [{ action: 'replace', object: manifestOf(changed) }], checked: false },
  ]);
}

async function decide(
  info: PodInfo,
  profile: Profile,
  options: ExplainOptions,
  head: Pick<Explanation, 'pod' | 'nodes' | 'refused' | 'scores'>,
): Promise<Explanation> {
  const { copy, dialect } = options;
  const nodes = copy.cluster.nodes();
  const { fitting, refusals: ofPlugins } = await copy.look(info, profile);
  const inquiry = new Inquiry(info, options.extenders ?? { extenders: [] });
  const verdict = await inquiry.filter(fitting);
  const failed = 'failure' in verdict;
  const feasible = failed ? fitting : verdict.left;
  const ofExtenders = failed ? new Map<NodeInfo, Refusal>() : verdict.refusals;
  const refused = new Map([...ofPlugins, ...ofExtenders]);
  const refusals = new Map<string, NodeRefusal>();
  const groups = new RefusalGroups();
  for (const [node, refusal] of refused) {
    const told = refusalOf(info, node, refusal);
    refusals.set(node.name, told);
    groups.add(told);
    await copy.pace.step();
  }
  const withFacts = <T extends { readonly plugin: string }>(refusal: T, name: string | undefined): T => {
    const node = copy.cluster.node(name ?? '');
    if (node === undefined) return refusal;
    const { plugin } = refusal;
    const filter = profile.filters.find((each) => each.plugin === plugin)?.point;
    const facts = factsOf({ plugin, filter, pod: info, node, cluster: copy.cluster, dialect });
    return facts === undefined ? refusal : { ...refusal, facts };
  };
  const details = detailsOf(nodes, refusals, options.details);
  const common = {
    ...head,
    nodes: { total: nodes.length, fitting: feasible.length },
    refused: groups.list().map((group) => withFacts(group, group.examples[0])),
    ...(details === undefined ? {} : { details: await toldOf(details, copy, withFacts) }),
  };
  const told = <T extends object>(rest: T) => {
    const extenders = inquiry.reports();
    return { ...common, ...(extenders.length === 0 ? {} : { extenders }), ...rest };
  };
  if (failed) return told({ outcome: 'ExtenderFails', message: verdict.failure, remedies: [] });
  if (feasible.length > 0) {
    const ranks = await inquiry.ranks(feasible);
    const scores = await scoresOf(copy, info, profile, feasible, Math.max(1, options.scores), ranks);
    const [best] = scores;
    const message = `${feasible.length}/${nodes.length} nodes can take the pod`;
    const node = best === undefined ? {} : { node: best.node };
    return told({ ...node, outcome: 'Fits', message, scores: scores.slice(0, options.scores), remedies: [] });
  }
  const error = fitError(nodes.length, refused.values());
  if (nodes.length === 0) return told({ outcome: 'FitsNowhere', message: error.message, remedies: [] });
  const preemption = await preemptionOf(copy, info, profile, hopelessNodes(ofExtenders));
  // What an extender refuses no change here helps, and what it would say after a change nobody knows.
  const byPlugins = common.refused.filter(({ plugin }) => !inquiry.names.has(plugin));
  const representatives = byPlugins.slice(0, 8).flatMap(({ examples }) => examples.slice(0, 3));
  const found = inTemplate(info, await remediesFor(copy, dialect, info, profile, representatives));
  const remedies = inquiry.filters ? found.map((remedy) => ({ ...remedy, checked: false })) : found;
  const message = error.afterPreemption(preemption.message);
  return told({ outcome: 'FitsNowhere', message, preemption, remedies });
}

/** A pod that a controller makes is changed for good only where the controller has it from. */
function inTemplate({ pod: { metadata } }: PodInfo, remedies: readonly Remedy[]): readonly Remedy[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return remedies;
  return remedies.map((remedy) =>
    remedy.changes.some(({ action }) => action === 'replace')
      ? { ...remedy, text: `${remedy.text} (in the pod template of ${owner.kind} ${owner.name})` }
      : remedy,
  );
}

type Details = NonNullable<Explanation['details']>;

async function toldOf(
  details: Details,
  { pace }: ClusterCopy,
  tell: (refusal: NodeRefusal, node: string) => NodeRefusal,
): Promise<Details> {
  const items: Details['items'][number][] = [];
  for (const item of details.items) {
    items.push('fits' in item ? item : tell(item, item.node));
    await pace.step();
  }
  return { ...details, items };
}

function detailsOf(
  nodes: readonly NodeInfo[],
  refusals: ReadonlyMap<string, NodeRefusal>,
  asked: ExplainOptions['details'],
): Explanation['details'] {
  if (asked === undefined) return undefined;
  const item = (node: string) => refusals.get(node) ?? ({ node, fits: true } as const);
  if ('node' in asked) {
    return { items: nodes.some(({ name }) => name === asked.node) ? [item(asked.node)] : [] };
  }
  const names = nodes
    .map(({ name }) => name)
    .sort()
    .filter((name) => asked.after === undefined || name > asked.after);
  const page = names.slice(0, asked.limit);
  const last = page.at(-1);
  return {
    items: page.map(item),
    ...(names.length > page.length && last !== undefined ? { continue: last } : {}),
  };
}
