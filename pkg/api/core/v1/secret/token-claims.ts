/**
 * The claims of tokens in service account token secrets, for creating and verifying tokens. They have no expiration and
 * no audience: a token is valid as long as its secret exists.
 */
import type { Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** The subject of such a token. */
export interface SecretTokenClaims {
  readonly namespace: string;
  readonly secretName: string;
  readonly accountName: string;
  readonly accountUID: string;
}

/** `kubernetes/serviceaccount`. */
export function secretTokenIssuer({ product }: Dialect): string {
  return `${product}/serviceaccount`;
}

/** The claims in the token's form. */
export function secretTokenClaims(
  dialect: Dialect,
  account: ServiceAccount,
  secret: Secret,
): Readonly<Record<string, unknown>> {
  const { name = '', namespace = '', uid = '' } = account.metadata;
  const names = claimNames(dialect);
  return {
    iss: secretTokenIssuer(dialect),
    [names.namespace]: namespace,
    [names.secretName]: secret.metadata.name ?? '',
    [names.accountName]: name,
    [names.accountUID]: uid,
    sub: subjectOf(namespace, name),
  };
}

/** Reads verified claims; undefined if one is missing, of another type, or inconsistent. */
export function readSecretTokenClaims(
  dialect: Dialect,
  claims: Readonly<Record<string, unknown>>,
): SecretTokenClaims | undefined {
  const names = claimNames(dialect);
  const text = (name: string) => (typeof claims[name] === 'string' ? claims[name] : '');
  const read = {
    namespace: text(names.namespace),
    secretName: text(names.secretName),
    accountName: text(names.accountName),
    accountUID: text(names.accountUID),
  };
  if (Object.values(read).includes('')) return undefined;
  return claims['sub'] === subjectOf(read.namespace, read.accountName) ? read : undefined;
}

function claimNames({ labelDomain }: Dialect): Readonly<Record<keyof SecretTokenClaims, string>> {
  const prefix = `${labelDomain}/serviceaccount`;
  return {
    namespace: `${prefix}/namespace`,
    secretName: `${prefix}/secret.name`,
    accountName: `${prefix}/service-account.name`,
    accountUID: `${prefix}/service-account.uid`,
  };
}

function subjectOf(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
