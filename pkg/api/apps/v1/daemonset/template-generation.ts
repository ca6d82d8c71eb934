/** The number of a daemon set's template, as it was counted before there were ControllerRevisions. */
import type { DaemonSet } from '#api/apps/v1/types.gen.js';

/** Where the generation that older versions kept in the spec lives on; the same in both dialects. */
export const templateGenerationAnnotation = 'deprecated.daemonset.template.generation';

/** Undefined when the set has none, or no number. */
export function templateGenerationOf(set: DaemonSet): number | undefined {
  const text = set.metadata.annotations?.[templateGenerationAnnotation] ?? '';
  return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
