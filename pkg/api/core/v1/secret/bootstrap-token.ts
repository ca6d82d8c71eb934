/** Bootstrap tokens: secrets in the system namespace with which new members and the cluster authenticate each other. */
import { randomInt } from 'node:crypto';
import type { Secret } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** RFC 3339. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const namePattern = /^bootstrap-token-([a-z0-9]{6})$/;

const tokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** Two parts, of which the first is public. */
export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** `abcdef.0123456789abcdef`; undefined if invalid. */
export function parseBootstrapToken(text: string): BootstrapToken | undefined {
  const [, id, secret] = tokenPattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** An unpredictable token. */
export function newBootstrapToken(): BootstrapToken {
  const random = (length: number) => Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
  return { id: random(6), secret: random(16) };
}

export interface BootstrapTokenOptions {
  readonly token: BootstrapToken;
  readonly description: string;
  /** Milliseconds since the epoch; undefined: never expires. */
  readonly expiresAt: number | undefined;
  /** Additional groups of its user. */
  readonly groups: readonly string[];
  /** Allowed usages, from `bootstrapTokenUsages`. */
  readonly usages: readonly string[];
}

export const bootstrapTokenUsages = ['signing', 'authentication'] as const;

/** The group that may request certificates of nodes. */
export function joiningGroup({ groups, product }: Dialect): string {
  return `${groups.bootstrappers}:${product}:default-node-token`;
}

export function bootstrapTokenName(id: string): string {
  return `bootstrap-token-${id}`;
}

/** The secret of the token. */
export function bootstrapTokenSecret(dialect: Dialect, options: BootstrapTokenOptions): Secret {
  const { token, description, expiresAt, groups, usages } = options;
  const texts: [key: string, text: string][] = [
    ['token-id', token.id],
    ['token-secret', token.secret],
    ...(description === '' ? [] : [['description', description] as [string, string]]),
    ...(expiresAt === undefined ? [] : [['expiration', formatTime(expiresAt)] as [string, string]]),
    ...usages.map((usage): [string, string] => [`usage-bootstrap-${usage}`, 'true']),
    ...(groups.length === 0 ? [] : [['auth-extra-groups', groups.join(',')] as [string, string]]),
  ];
  return {
    metadata: { name: bootstrapTokenName(token.id), namespace: dialect.namespaces.system },
    type: dialect.secretTypes.bootstrapToken,
    data: Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

/** The token's id from the name of its secret; undefined for another name. */
export function bootstrapTokenIdOf(secretName: string): string | undefined {
  return namePattern.exec(secretName)?.[1];
}

/** A text in the data of the secret; empty if absent. */
export function bootstrapTokenText({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
}

/**
 * Expiration in milliseconds since the epoch: `Infinity` if it never expires, `-Infinity` if the time is invalid, so
 * that it does not live forever.
 */
export function bootstrapTokenExpiryMs(secret: Secret): number {
  const text = bootstrapTokenText(secret, 'expiration');
  if (text === '') return Number.POSITIVE_INFINITY;
  const expiryMs = timePattern.test(text) ? parseTime(text) : Number.NaN;
  return Number.isNaN(expiryMs) ? Number.NEGATIVE_INFINITY : expiryMs;
}

/** Namespace and field selector for listing and watching them. */
export function bootstrapTokenSelector({ namespaces, secretTypes }: Dialect): {
  readonly namespace: string;
  readonly fieldSelector: string;
} {
  return { namespace: namespaces.system, fieldSelector: `type=${secretTypes.bootstrapToken}` };
}
