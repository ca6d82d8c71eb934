/** The smallest changes that make a pod fit, found by making them on a copy and deciding again. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Remedy } from '#scheduler/explain/explanation.js';
import type { Fix } from '#scheduler/explain/fix.js';
import { fixesFor } from '#scheduler/explain/fixes.js';
import type { ClusterCopy } from '#scheduler/explain/snapshot.js';
import { Trial } from '#scheduler/explain/trial.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** Changes that one remedy has, at most; what needs more is no small change. */
const maxSteps = 4;
/** Combinations that are tried on a node, at most. */
const maxPaths = 24;
const maxRemedies = 5;

/** On the nodes, which stand for others that refuse the pod alike. */
export async function remediesFor(
  copy: ClusterCopy,
  dialect: Dialect,
  pod: PodInfo,
  profile: Profile,
  nodes: readonly string[],
): Promise<Remedy[]> {
  const found: Remedy[] = [];
  for (const node of nodes) {
    /** Each a list of fixes; a longer one follows from a shorter one that was not enough. */
    const paths: (readonly Fix[])[] = [[]];
    for (let tried = 0; tried < maxPaths; tried++) {
      const path = paths.shift();
      if (path === undefined) break;
      const trial = new Trial(copy, dialect, profile, pod.pod, node);
      try {
        const texts = path.map((fix) => fix(trial));
        const refusal = trial.refusal();
        if (refusal === undefined) {
          if (path.length > 0) found.push({ text: texts.join('; '), node, changes: trial.changes, checked: true });
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
  return found
    .sort((a, b) => a.changes.length - b.changes.length || cost(a) - cost(b))
    .filter(({ text }) => !texts.has(text) && texts.add(text))
    .slice(0, maxRemedies);
}

/** In place before anew, nothing lost before something deleted. */
function cost({ changes }: Remedy): number {
  const of = { patch: 1, create: 1, replace: 2, delete: 3 };
  return changes.reduce((sum, { action }) => sum + of[action], 0);
}
