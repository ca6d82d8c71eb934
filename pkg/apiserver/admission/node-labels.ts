/** Which labels a node agent may put on its own node: pods are steered by the others. */
import type { Dialect } from '#apimachinery/dialect.js';

/** Names of labels that were added, changed or removed although the node may not. */
export function forbiddenLabels(
  now: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
  dialect: Dialect,
): string[] {
  const changed = new Set([...Object.keys(now), ...Object.keys(before)].filter((key) => now[key] !== before[key]));
  return [...changed].filter((key) => !mayChange(key, dialect)).sort();
}

function mayChange(key: string, dialect: Dialect): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  if (within(domain, `node-restriction.${dialect.labelDomain}`)) return false;
  if (![dialect.labelDomain, dialect.apiDomain].some((own) => within(domain, own))) return true;
  const { labels } = dialect;
  const own = [labels.hostname, labels.os, labels.arch, labels.zone, labels.region, labels.instanceType];
  const old = [
    labels.betaOS,
    labels.betaArch,
    `beta.${dialect.labelDomain}/instance-type`,
    `failure-domain.beta.${dialect.labelDomain}/zone`,
    `failure-domain.beta.${dialect.labelDomain}/region`,
  ];
  if ([...own, ...old].includes(key)) return true;
  return (
    within(domain, `${dialect.components.nodeAgent}.${dialect.labelDomain}`) ||
    within(domain, `node.${dialect.labelDomain}`)
  );
}

const within = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);
