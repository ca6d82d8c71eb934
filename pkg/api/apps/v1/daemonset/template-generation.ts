/** The template generation of a daemon set, which predates ControllerRevisions. */
import type { DaemonSet } from '#api/apps/v1/types.gen.js';

/** The annotation that replaced a spec field of older versions; the same in both dialects. */
export const templateGenerationAnnotation = 'deprecated.daemonset.template.generation';

/** Undefined if the set has none, or an invalid one. */
export function templateGenerationOf(set: DaemonSet): number | undefined {
  const text = set.metadata.annotations?.[templateGenerationAnnotation] ?? '';
  return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
