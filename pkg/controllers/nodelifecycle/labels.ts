/** The labels of a node that older clients select by. Rules of release 1.24. Pure. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Labels to set: the beta forms say what the stable ones do. None for a node without the stable ones. */
export function missingLabels({ labels: names }: Dialect, { metadata }: Node): Record<string, string> {
  const missing: Record<string, string> = {};
  for (const [stable, beta] of [
    [names.os, names.betaOS],
    [names.arch, names.betaArch],
  ] as const) {
    const value = metadata.labels?.[stable];
    if (value !== undefined && metadata.labels?.[beta] !== value) missing[beta] = value;
  }
  return missing;
}
