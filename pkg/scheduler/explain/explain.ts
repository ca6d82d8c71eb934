/** Explains why a pod is on its node, or on none: repeats the scheduler's decision on a copy of its state. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { unresolvableNodes } from '#scheduler/decision/extenders.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type {
  Explanation,
  NodeRefusal,
  Outcome,
  PreemptionCandidate,
  PreemptionReport,
  Remedy,
} from '#scheduler/explain/explanation.js';
import { Inquiry, type InquiryExtenders } from '#scheduler/explain/extenders.js';
import { factsOf } from '#scheduler/explain/facts.js';
import { fixesFor } from '#scheduler/explain/fixes.js';
import { RefusalGroups, refusalOf } from '#scheduler/explain/refusals.js';
import { scoresOf } from '#scheduler/explain/scores.js';
import { type ClusterCopy, fitError } from '#scheduler/explain/snapshot.js';
import { type Fix, manifestOf, Trial } from '#scheduler/explain/trial.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { chooseCandidate, Preemption } from '#scheduler/preemption/preemption.js';
import type { Victims } from '#scheduler/preemption/victims.js';

export interface ExplainOptions {
  readonly copy: ClusterCopy;
  readonly dialect: Dialect;
  readonly profiles: readonly Profile[];
  /** The configured extenders. */
  readonly extenders?: InquiryExtenders;
  /** How many of the best nodes have their scores reported. */
  readonly scores: number;
  /** Report node by node: a page of `limit` nodes after that name, or one node. */
  readonly details?: { readonly limit: number; readonly after?: string } | { readonly node: string };
}

/** `pod` need not exist in the API. */
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
    const nodeRefusal = refusalOf(info, node, refusal);
    refusals.set(node.name, nodeRefusal);
    groups.add(nodeRefusal);
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
    ...(details === undefined ? {} : { details: await detailsOfNodes(details, copy, withFacts) }),
  };
  const explanation = <T extends object>(rest: T) => {
    const extenders = inquiry.reports();
    return { ...common, ...(extenders.length === 0 ? {} : { extenders }), ...rest };
  };
  if (failed) return explanation({ outcome: 'ExtenderFails', message: verdict.failure, remedies: [] });
  if (feasible.length > 0) {
    const ranks = await inquiry.ranks(feasible);
    const scores = await scoresOf(copy, info, profile, feasible, Math.max(1, options.scores), ranks);
    const [best] = scores;
    const message = `${feasible.length}/${nodes.length} nodes can take the pod`;
    const node = best === undefined ? {} : { node: best.node };
    return explanation({ ...node, outcome: 'Fits', message, scores: scores.slice(0, options.scores), remedies: [] });
  }
  const error = fitError(nodes.length, refused.values());
  if (nodes.length === 0) return explanation({ outcome: 'FitsNowhere', message: error.message, remedies: [] });
  const preemption = await preemptionOf(copy, info, profile, unresolvableNodes(ofExtenders));
  // Remedies do not help against an extender's refusal, and its answer after a change cannot be predicted.
  const byPlugins = common.refused.filter(({ plugin }) => !inquiry.names.has(plugin));
  const representatives = byPlugins.slice(0, 8).flatMap(({ examples }) => examples.slice(0, 3));
  const checkedRemedies = inTemplate(info, await remediesFor(copy, dialect, info, profile, representatives));
  const remedies = inquiry.filters ? checkedRemedies.map((remedy) => ({ ...remedy, checked: false })) : checkedRemedies;
  const message = error.afterPreemption(preemption.message);
  return explanation({ outcome: 'FitsNowhere', message, preemption, remedies });
}

/** Tells users to make changes of a controller's pod in its pod template. */
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

async function detailsOfNodes(
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
  details: ExplainOptions['details'],
): Explanation['details'] {
  if (details === undefined) return undefined;
  const item = (node: string) => refusals.get(node) ?? ({ node, fits: true } as const);
  if ('node' in details) {
    return { items: nodes.some(({ name }) => name === details.node) ? [item(details.node)] : [] };
  }
  const names = nodes
    .map(({ name }) => name)
    .sort()
    .filter((name) => details.after === undefined || name > details.after);
  const page = names.slice(0, details.limit);
  const last = page.at(-1);
  return {
    items: page.map(item),
    ...(names.length > page.length && last !== undefined ? { continue: last } : {}),
  };
}

/** Limit of reported candidates. */
const maxCandidates = 10;

/** The outcome of preemption for a pod that fits nowhere. `hopeless`: nodes where extenders rule out eviction. */
async function preemptionOf(
  copy: ClusterCopy,
  pod: PodInfo,
  profile: Profile,
  hopeless: ReadonlySet<string>,
): Promise<PreemptionReport> {
  const { cluster, nominator, pace } = copy;
  if (profile.preemption === undefined) {
    return { message: 'no plugin of the profile evicts pods', tried: 0, candidates: [], refused: [] };
  }
  const filters = copy.filters(pod, profile);
  const candidates: PreemptionCandidate[] = [];
  const refused = new RefusalGroups();
  // No randomness: the report must be the same on every call.
  const preemption = new Preemption({ cluster, nominator, random: () => 0 });
  const ineligible = preemption.ineligible(pod, filters);
  if (ineligible !== undefined) return { message: ineligible, tried: 0, candidates: [], refused: [] };
  const steps = preemption.steps(pod, filters, profile.preemption, hopeless);
  let tried = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) {
    const { node, result } = step.value;
    tried++;
    if ('reasons' in result) {
      refused.add({ node: node.name, plugin: 'DefaultPreemption', reasons: result.reasons, resolvable: true });
    } else if (candidates.length < maxCandidates) candidates.push(candidateOf(node, result));
    await pace.step();
  }
  const choice = chooseCandidate(step.value);
  const end = 'message' in choice ? { message: choice.message } : { node: choice.node.name };
  return { ...end, tried, candidates, refused: refused.list() };
}

function candidateOf({ name }: NodeInfo, { budgets, pods, violations }: Victims): PreemptionCandidate {
  const victims = pods.map(({ namespace, pod, priority }) => ({
    namespace,
    name: pod.metadata.name ?? '',
    priority,
  }));
  return { node: name, victims, protected: violations, budgets };
}

/** Limit of changes per remedy; a longer remedy is not a small change. */
const maxSteps = 4;
/** Limit of combinations tried per node. */
const maxPaths = 24;
const maxRemedies = 5;

/**
 * The smallest changes that make a pod fit on the given nodes, which represent others with the same refusals. Each is
 * tried on a copy and checked by a new decision.
 */
async function remediesFor(
  copy: ClusterCopy,
  dialect: Dialect,
  pod: PodInfo,
  profile: Profile,
  nodes: readonly string[],
): Promise<Remedy[]> {
  const remedies: Remedy[] = [];
  for (const node of nodes) {
    /** Lists of fixes; a longer one extends a shorter one that did not suffice. */
    const paths: (readonly Fix[])[] = [[]];
    for (let trialCount = 0; trialCount < maxPaths; trialCount++) {
      const path = paths.shift();
      if (path === undefined) break;
      const trial = new Trial(copy, dialect, profile, pod.pod, node);
      try {
        const texts = path.map((fix) => fix(trial));
        const refusal = trial.refusal();
        if (refusal === undefined) {
          if (path.length > 0) remedies.push({ text: texts.join('; '), node, changes: trial.changes, checked: true });
        } else if (path.length < maxSteps) {
          for (const fix of fixesFor(refusal, trial)) paths.push([...path, fix]);
        }
      } finally {
        trial.undo();
      }
      await copy.pace.step();
    }
  }
  const texts = new Set<string>();
  return remedies
    .sort((a, b) => a.changes.length - b.changes.length || cost(a) - cost(b))
    .filter(({ text }) => !texts.has(text) && texts.add(text))
    .slice(0, maxRemedies);
}

/** Changes in place rank before new objects, and deletions last. */
function cost({ changes }: Remedy): number {
  const costs = { patch: 1, create: 1, replace: 2, delete: 3 };
  return changes.reduce((sum, { action }) => sum + costs[action], 0);
}
