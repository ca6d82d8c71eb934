/** Possible remedies by the plugin that refused the node. Each is a guess until a new decision confirms it. */
import { findUntoleratedTaint, taintText } from '#api/core/v1/node/taints.js';
import type { Affinity, NodeSelectorTerm } from '#api/core/v1/types.gen.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import { resourceFixes } from '#scheduler/explain/fixes-of-resources.js';
import { volumeFixes } from '#scheduler/explain/fixes-of-volumes.js';
import { canLeaveNode, type Fix, type Trial } from '#scheduler/explain/trial.js';
import { claimHolder } from '#scheduler/plugins/volume-restrictions.js';

export function fixesFor(refusal: Refusal, trial: Trial): readonly Fix[] {
  switch (refusal.plugin) {
    case 'NodeUnschedulable':
      return [uncordon];
    case 'TaintToleration':
      return taintFixes(trial);
    case 'NodeAffinity':
      return nodeAffinityFixes(trial);
    case 'NodePorts':
      return [withoutHostPorts, ...removals(refusal, trial)];
    case 'NodeResourcesFit':
      return resourceFixes(refusal, trial);
    case 'VolumeRestrictions':
      return [...volumeFixes(refusal, trial), ...claimFixes(trial), ...removals(refusal, trial)];
    case 'NodeVolumeLimits':
    case 'EBSLimits':
    case 'GCEPDLimits':
    case 'AzureDiskLimits':
    case 'CinderLimits':
      return removals(refusal, trial);
    case 'VolumeBinding':
    case 'VolumeZone':
      return volumeFixes(refusal, trial);
    case 'PodTopologySpread':
      return spreadFixes(refusal, trial);
    case 'InterPodAffinity':
      return affinityFixes(refusal, trial);
    default:
      return [];
  }
}

const uncordon: Fix = (trial) => {
  const key = trial.dialect.taints.unschedulable;
  const taints = (trial.node.node?.spec.taints ?? []).filter((taint) => taint.key !== key);
  trial.patchNode({ spec: { unschedulable: null } }, { spec: { taints } });
  return `uncordon node ${trial.node.name}`;
};

/** The control plane restores its own taints while their cause lasts, so only a toleration helps against them. */
function taintFixes({ dialect, info, node: { node } }: Trial): Fix[] {
  const taints = node?.spec.taints ?? [];
  const taint = findUntoleratedTaint(taints, info.pod.spec.tolerations, ['NoSchedule', 'NoExecute']);
  if (taint === undefined) return [];
  const { effect, key, value = '' } = taint;
  const shown = taintText(taint);
  const tolerate: Fix = (trial) => {
    const toleration = { key, operator: 'Equal', value, effect };
    trial.patchPod({ spec: { tolerations: [...(trial.pod.spec.tolerations ?? []), toleration] } });
    return `let the pod tolerate the taint ${shown}`;
  };
  const ofControlPlane = Object.values(dialect.taints).includes(key);
  if (ofControlPlane) return [];
  const remove: Fix = (trial) => {
    const remaining = (trial.node.node?.spec.taints ?? []).filter((each) => each.key !== key || each.effect !== effect);
    trial.patchNode({ spec: { taints: remaining.length === 0 ? null : remaining } });
    return `remove the taint ${shown} from node ${trial.node.name}`;
  };
  return [tolerate, remove];
}

function nodeAffinityFixes({ info: { pod } }: Trial): Fix[] {
  const { affinity, nodeSelector = {} } = pod.spec;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const labels = { ...nodeSelector, ...(terms === undefined ? {} : labelsFor(terms[0])) };
  const label: Fix = (trial) => {
    const missing = Object.entries(labels).filter(([key, value]) => (trial.node.labels[key] ?? null) !== value);
    trial.patchNode({ metadata: { labels: Object.fromEntries(missing) } });
    const shown = missing.map(([key, value]) => (value === null ? `${key}-` : `${key}=${value}`)).join(' ');
    return `label node ${trial.node.name} with ${shown}`;
  };
  const drop: Fix = (trial) => {
    const { nodeSelector: _selector, ...spec } = trial.pod.spec;
    const { requiredDuringSchedulingIgnoredDuringExecution: _required, ...preferred } = affinity?.nodeAffinity ?? {};
    const rest: Affinity = { ...affinity, nodeAffinity: preferred };
    trial.replacePod({ ...trial.pod, spec: { ...spec, ...(affinity === undefined ? {} : { affinity: rest }) } });
    return "leave the pod's node selector and required node affinity out";
  };
  return [label, drop];
}

/** Labels that make a node meet the term, if single labels suffice; null: remove the label. */
function labelsFor(term: NodeSelectorTerm | undefined): Record<string, string | null> {
  const labels: Record<string, string | null> = {};
  for (const { key, operator, values = [] } of term?.matchExpressions ?? []) {
    if (operator === 'In') labels[key] = values[0] ?? '';
    else if (operator === 'Exists') labels[key] = 'true';
    else if (operator === 'NotIn' || operator === 'DoesNotExist') labels[key] = null;
    else if (operator === 'Gt') labels[key] = String(Number(values[0]) + 1);
    else if (operator === 'Lt') labels[key] = String(Number(values[0]) - 1);
  }
  return labels;
}

const withoutHostPorts: Fix = (trial) => {
  const containers = trial.pod.spec.containers.map((container) => ({
    ...container,
    ports: (container.ports ?? []).map(({ hostIP: _ip, hostPort: _port, ...port }) => port),
  }));
  const { hostNetwork: _network, ...spec } = trial.pod.spec;
  trial.replacePod({ ...trial.pod, spec: { ...spec, containers } });
  return "leave the pod's host ports out";
};

/** Deletes the pod that uses a single-pod claim. */
function claimFixes({ copy, pod }: Trial): Fix[] {
  const holder = claimHolder(pod, copy.cluster);
  if (holder === undefined || !canLeaveNode(holder.pod.pod)) return [];
  return [
    (trial) => {
      trial.removePod(holder.pod, holder.node);
      return `delete pod ${holder.pod.key}, which has the claim ${holder.claim}`;
    },
  ];
}

/** Limit of pods tried. */
const maxRemovalTrials = 250;

/** Deletes a single pod of the node if that changes the plugin's result. */
function removals(refusal: Refusal, { copy, info, node, profile }: Trial): Fix[] {
  const filters = copy.filters(info, profile);
  for (const other of [...node.pods.values()].slice(0, maxRemovalTrials)) {
    if (!canLeaveNode(other.pod)) continue;
    const then = copy.cluster.tentatively(node, (change) => {
      change.remove(other);
      return filters.checkTentative(node);
    });
    if (then?.plugin === refusal.plugin) continue;
    return [
      (trial) => {
        trial.removePod(other);
        return `delete pod ${other.key}, which stands in the way on node ${node.name}`;
      },
    ];
  }
  return [];
}

function spreadFixes(refusal: Refusal, { info: { pod } }: Trial): Fix[] {
  const constraints = pod.spec.topologySpreadConstraints ?? [];
  const fixes: Fix[] = [];
  if (refusal.rejection.unresolvable === true) {
    fixes.push((trial) => {
      const missing = constraints
        .map(({ topologyKey }) => topologyKey)
        .filter((key) => trial.node.labels[key] === undefined);
      trial.patchNode({ metadata: { labels: Object.fromEntries(missing.map((key) => [key, trial.node.name])) } });
      return `label node ${trial.node.name} with ${missing.join(', ')}`;
    });
  }
  if (constraints.length > 0) {
    fixes.push((trial) => {
      const topologySpreadConstraints = constraints.map((each) => ({ ...each, whenUnsatisfiable: 'ScheduleAnyway' }));
      trial.replacePod({ ...trial.pod, spec: { ...trial.pod.spec, topologySpreadConstraints } });
      return "let the pod's topology spread constraints be preferences (whenUnsatisfiable: ScheduleAnyway)";
    });
  }
  return fixes;
}

function affinityFixes(refusal: Refusal, trial: Trial): Fix[] {
  const [reason = ''] = refusal.rejection.reasons;
  if (reason.includes('existing pods')) return removals(refusal, trial);
  const field = reason.includes('anti-affinity') ? 'podAntiAffinity' : 'podAffinity';
  const relax: Fix = (trial) => {
    const { pod } = trial;
    const affinity = pod.spec.affinity ?? {};
    const { requiredDuringSchedulingIgnoredDuringExecution: required = [], ...rest } = affinity[field] ?? {};
    const preferred = [
      ...(rest.preferredDuringSchedulingIgnoredDuringExecution ?? []),
      ...required.map((podAffinityTerm) => ({ weight: 100, podAffinityTerm })),
    ];
    const relaxed = { ...affinity, [field]: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };
    trial.replacePod({ ...pod, spec: { ...pod.spec, affinity: relaxed } });
    return `let the pod's required ${field === 'podAffinity' ? 'affinity' : 'anti-affinity'} be a preference`;
  };
  return field === 'podAffinity' ? [relax] : [relax, ...removals(refusal, trial)];
}
