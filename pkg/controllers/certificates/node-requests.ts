/** Checks whether a certificate request is one of a node. The functions return the reason when it is not. Pure. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { RequestedCertificate } from '#controllers/certificates/requests.js';

const clientUsages = ['client auth', 'digital signature', 'key encipherment'];
const servingUsages = ['digital signature', 'key encipherment', 'server auth'];

/** Why the request is not for a node's client certificate; undefined when it is. */
export function notForNodeClient(
  dialect: Dialect,
  { subject, names, usages }: RequestedCertificate,
): string | undefined {
  if (!isOfNodes(dialect, subject.organizations)) return notOfNodes(dialect);
  if (names.dns.length > 0) return 'DNS subjectAltNames are not allowed';
  if (names.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (names.ips.length > 0) return 'IP subjectAltNames are not allowed';
  if (names.uris.length > 0) return 'URI subjectAltNames are not allowed';
  if (!subject.commonName.startsWith(dialect.users.nodePrefix)) return notOfNode(dialect);
  return otherUsages(usages, clientUsages);
}

/** Why the request is not for a node agent's serving certificate; undefined when it is. */
export function notForNodeServing(
  dialect: Dialect,
  { subject, names, usages }: RequestedCertificate,
): string | undefined {
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

/** `expected` is sorted. */
function otherUsages(usages: readonly string[], expected: readonly string[]): string | undefined {
  const requested = new Set(usages);
  const same = requested.size === expected.length && expected.every((usage) => requested.has(usage));
  return same ? undefined : `usages did not match [${expected.join(' ')}]`;
}
