/** Each default filter and score of release 1.24, as slow and obvious as can be. */
import type { Node, Pod, Taint } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { affinityRefusal, affinityScore } from '#scheduler/testing/reference/affinity.js';
import { type Model, nameOf, podsOn } from '#scheduler/testing/reference/model.js';
import { namesConflict, preference, wanted } from '#scheduler/testing/reference/node-affinity.js';
import type { Refused } from '#scheduler/testing/reference/refused.js';
import { even, lacking, least } from '#scheduler/testing/reference/resources.js';
import { spreadRefusal, spreadScores } from '#scheduler/testing/reference/spread.js';
import { claimsRefusal, singleClaimsRefusal, volumesRefusal } from '#scheduler/testing/reference/volumes.js';

const tolerated = (pod: Pod, taint: Taint) =>
  (pod.spec.tolerations ?? []).some(
    ({ effect = taint.effect, key = taint.key, operator, value }) =>
      effect === taint.effect && key === taint.key && (operator === 'Exists' || value === taint.value),
  );

/** The first plugin that refuses the node; before all, what refuses all nodes. `singlePods`: the gate ReadWriteOncePod. */
export function refusal(
  model: Model,
  pod: Pod,
  node: Node,
  dialect: Dialect,
  { singlePods = false } = {},
): Refused | undefined {
  if (namesConflict(pod)) return { plugin: 'NodeAffinity', reasons: ['pod affinity terms conflict'] };
  const ofClaims = (singlePods ? singleClaimsRefusal(model, pod) : undefined) ?? claimsRefusal(model, pod, dialect);
  return ofClaims ?? nodeRefusal(model, pod, node, dialect);
}

function nodeRefusal(model: Model, pod: Pod, node: Node, dialect: Dialect): Refused | undefined {
  const cordon = { key: dialect.taints.unschedulable, effect: 'NoSchedule' };
  if (node.spec.unschedulable === true && !tolerated(pod, cordon)) {
    return { plugin: 'NodeUnschedulable', reasons: ['node(s) were unschedulable'] };
  }
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== nameOf(node)) {
    return { plugin: 'NodeName', reasons: ["node(s) didn't match the requested node name"] };
  }
  const taint = node.spec.taints?.find((each) => each.effect !== 'PreferNoSchedule' && !tolerated(pod, each));
  if (taint !== undefined) {
    const reason = `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
    return { plugin: 'TaintToleration', reasons: [reason] };
  }
  if (!wanted(pod, node)) {
    return { plugin: 'NodeAffinity', reasons: ["node(s) didn't match Pod's node affinity/selector"] };
  }
  if (podsOn(model, node).some((other) => portsClash(pod, other))) {
    return { plugin: 'NodePorts', reasons: ["node(s) didn't have free ports for the requested pod ports"] };
  }
  const resources = lacking(model, pod, node);
  if (resources.length > 0) return { plugin: 'NodeResourcesFit', reasons: resources };
  const volumes = volumesRefusal(model, pod, node, dialect);
  if (volumes !== undefined) return volumes;
  const spread = spreadRefusal(model, pod, node);
  if (spread !== undefined) return { plugin: 'PodTopologySpread', reasons: [spread] };
  const affinity = affinityRefusal(model, pod, node);
  return affinity === undefined ? undefined : { plugin: 'InterPodAffinity', reasons: [affinity] };
}

function portsClash(a: Pod, b: Pod): boolean {
  const ports = (pod: Pod) => (pod.spec.containers ?? []).flatMap(({ ports: own }) => own ?? []);
  const any = '0.0.0.0';
  return ports(a).some((left) =>
    ports(b).some((right) => {
      const [ip = any, other = any] = [left.hostIP, right.hostIP];
      const sameIP = ip === any || other === any || ip === other;
      const sameProtocol = (left.protocol ?? 'TCP') === (right.protocol ?? 'TCP');
      return (left.hostPort ?? 0) > 0 && left.hostPort === right.hostPort && sameProtocol && sameIP;
    }),
  );
}

/** What each plugin gives to each of the feasible nodes, normalized. */
export function scores(
  model: Model,
  pod: Pod,
  feasible: readonly Node[],
  dialect: Dialect,
): Readonly<Record<string, readonly number[]>> {
  const disliked = (node: Node) =>
    (node.spec.taints ?? []).filter((each) => each.effect === 'PreferNoSchedule' && !tolerated(pod, each)).length;
  const near = feasible.map((node) => affinityScore(model, pod, node));
  const [min, max] = [Math.min(...near), Math.max(...near)];
  return {
    TaintToleration: toMax(feasible.map(disliked)).map((score) => 100 - score),
    NodeAffinity: toMax(feasible.map((node) => preference(pod, node))),
    NodeResourcesFit: feasible.map((node) => least(model, pod, node)),
    PodTopologySpread: spreadScores(model, pod, feasible, dialect),
    InterPodAffinity: near.map((score) => (max === min ? 0 : Math.floor((100 * (score - min)) / (max - min)))),
    NodeResourcesBalancedAllocation: feasible.map((node) => even(model, pod, node)),
    ImageLocality: feasible.map((node) => imageScore(model, pod, node)),
  };
}

function toMax(scores: readonly number[]): number[] {
  const max = Math.max(0, ...scores);
  return scores.map((score) => (max === 0 ? 0 : Math.floor((100 * score) / max)));
}

function imageScore(model: Model, pod: Pod, node: Node): number {
  const megabyte = 1024 * 1024;
  const images = (pod.spec.containers ?? []).map(({ image = '' }) => (image.includes(':') ? image : `${image}:latest`));
  if (images.length === 0) return 0;
  const has = (each: Node, name: string) => each.status?.images?.find(({ names }) => names?.includes(name) === true);
  let bytes = 0;
  for (const image of images) {
    const found = has(node, image);
    if (found === undefined) continue;
    const share = model.nodes.filter((each) => has(each, image) !== undefined).length / model.nodes.length;
    bytes += Math.floor(Number(found.sizeBytes ?? 0) * share);
  }
  const [low, high] = [23 * megabyte, 1000 * megabyte * images.length];
  return Math.floor((100 * (Math.min(high, Math.max(low, bytes)) - low)) / (high - low));
}
