import {
  asksForNodes,
  matchesNodeSelectorTerm,
  matchesRequiredNodeAffinity,
  preferredNodeWeight,
} from '#api/core/v1/affinity/node-selector.js';
import type { NodeAffinity, PodSpec } from '#api/core/v1/types.gen.js';
import { type NodeFilter, type Plugin, type Rejection, scaleToMax } from '#scheduler/framework/plugin.js';

export interface NodeAffinityArgs {
  /** Applies to every pod in addition to its own affinity. */
  readonly addedAffinity?: NodeAffinity;
}

const unresolvable = (reason: string): Rejection => ({ reasons: [reason], unresolvable: true });
const noMatch = unresolvable("node(s) didn't match Pod's node affinity/selector");
const enforced = unresolvable("node(s) didn't match scheduler-enforced node affinity");
const conflict = unresolvable('pod affinity terms conflict');

/** Node selector and node affinity: required terms filter nodes, preferred terms score them. */
export function nodeAffinity({ addedAffinity }: NodeAffinityArgs = {}): Plugin {
  const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const addedPreferred = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return {
    name: 'NodeAffinity',
    events: ['NodeAdd', 'NodeLabelChange'],
    filter: {
      local: true,
      prepare({ pod: { spec } }) {
        if (added === undefined && !asksForNodes(spec)) return undefined;
        const nodeNames = requiredNodeNames(spec);
        const filter: NodeFilter = {
          filter({ node }) {
            if (node === undefined) return noMatch;
            if (added !== undefined && !added.some((term) => matchesNodeSelectorTerm(term, node))) return enforced;
            return matchesRequiredNodeAffinity(spec, node) ? undefined : noMatch;
          },
        };
        if (nodeNames === undefined) return filter;
        return nodeNames.size === 0 ? { ...filter, begin: () => conflict } : { ...filter, nodeNames };
      },
    },
    score: {
      local: true,
      prepare({ pod }) {
        const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
        const terms = [...addedPreferred, ...preferred];
        if (terms.length === 0) return undefined;
        return {
          score: ({ node }) => (node === undefined ? 0 : preferredNodeWeight(terms, node)),
          normalize: (scores) => scaleToMax(scores, false),
        };
      },
    },
  };
}

const requiredTerms = (affinity: NodeAffinity | undefined) =>
  affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;

/** The node names in the required terms if each term has some, as in pods of a DaemonSet. */
function requiredNodeNames({ affinity }: PodSpec): Set<string> | undefined {
  const names = new Set<string>();
  const terms = requiredTerms(affinity?.nodeAffinity);
  if (terms === undefined || terms.length === 0) return undefined;
  for (const { matchFields = [] } of terms) {
    let ofTerm: Set<string> | undefined;
    for (const { key, operator, values = [] } of matchFields) {
      if (key !== 'metadata.name' || operator !== 'In') continue;
      const before = ofTerm;
      ofTerm = new Set(before === undefined ? values : values.filter((name) => before.has(name)));
    }
    if (ofTerm === undefined) return undefined;
    for (const name of ofTerm) names.add(name);
  }
  return names;
}
