/** What certificates of nodes look like: what is said here of a request says why it is none for a node. Pure. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Asked } from '#controllers/certificates/requests.js';

const clientUsages = ['client auth', 'digital signature', 'key encipherment'];
const servingUsages = ['digital signature', 'key encipherment', 'server auth'];

/** Why it is no certificate by which a node is known to the API server; undefined when it is one. */
export function notForNodeClient(dialect: Dialect, { subject, names, usages }: Asked): string | undefined {
  if (!isOfNodes(dialect, subject.organizations)) return notOfNodes(dialect);
  if (names.dns.length > 0) return 'DNS subjectAltNames are not allowed';
  if (names.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (names.ips.length > 0) return 'IP subjectAltNames are not allowed';
  if (names.uris.length > 0) return 'URI subjectAltNames are not allowed';
  if (!subject.commonName.startsWith(dialect.users.nodePrefix)) return notOfNode(dialect);
  return otherUsages(usages, clientUsages);
}

/** Why it is no certificate with which a node agent serves; undefined when it is one. */
export function notForNodeServing(dialect: Dialect, { subject, names, usages }: Asked): string | undefined {
  if (!isOfNodes(dialect, subject.organizations)) return notOfNodes(dialect);
  if (names.dns.length === 0 && names.ips.length === 0) return 'DNS or IP subjectAltName is required';
  if (names.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (names.uris.length > 0) return 'URI subjectAltNames are not allowed';
  const others = otherUsages(usages, servingUsages);
  if (others !== undefined) return others;
  return subject.commonName.startsWith(dialect.users.nodePrefix) ? undefined : notOfNode(dialect);
}

function isOfNodes({ groups }: Dialect, organizations: readonly string[]): boolean {
  return organizations.length === 1 && organizations[0] === groups.nodes;
}

function notOfNodes({ groups }: Dialect): string {
  return `subject organization is not ${groups.nodes}`;
}

function notOfNode({ users }: Dialect): string {
  return `subject common name does not begin with ${users.nodePrefix}`;
}

/** `wanted` is sorted. */
function otherUsages(usages: readonly string[], wanted: readonly string[]): string | undefined {
  const given = new Set(usages);
  const same = given.size === wanted.length && wanted.every((usage) => given.has(usage));
  return same ? undefined : `usages did not match [${wanted.join(' ')}]`;
}
