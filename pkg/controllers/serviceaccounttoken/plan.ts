/** The content of token secrets, and the references of accounts. Pure. */
import type { Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

const keys = { token: 'token', namespace: 'namespace', ca: 'ca.crt' } as const;

export interface TokenSources {
  readonly dialect: Dialect;
  readonly account: ServiceAccount;
  /** PEM bundle that verifies the API server; added to secrets if set. */
  readonly rootCA: string | undefined;
  /** Signs the token of an account and a secret. */
  readonly token: (account: ServiceAccount, secret: Secret) => string;
}

export function isIncomplete({ data = {} }: Secret, rootCA: string | undefined): boolean {
  return !data[keys.token] || !data[keys.namespace] || (rootCA !== undefined && data[keys.ca] !== base64(rootCA));
}

/** Completes the secret. An existing token stays. */
export function filled(secret: Secret, { dialect, account, rootCA, token }: TokenSources): Secret {
  const { metadata, data = {} } = secret;
  return {
    ...secret,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotationsFor(dialect, account) } },
    data: {
      ...data,
      ...(rootCA === undefined ? {} : { [keys.ca]: base64(rootCA) }),
      [keys.namespace]: data[keys.namespace] || base64(metadata.namespace ?? ''),
      [keys.token]: data[keys.token] || base64(token(account, secret)),
    },
  };
}

export function tokenSecret(name: string, sources: TokenSources): Secret {
  const { dialect, account } = sources;
  const { namespace = '' } = account.metadata;
  const metadata = { name, namespace };
  return filled({ metadata, type: dialect.secretTypes.serviceAccountToken }, sources);
}

function annotationsFor({ annotations }: Dialect, { metadata }: ServiceAccount): Record<string, string> {
  return {
    [annotations.serviceAccountName]: metadata.name ?? '',
    [annotations.serviceAccountUID]: metadata.uid ?? '',
  };
}

/** The account of a token; the UID is empty before the secret is filled in. */
export interface TokenOwner {
  readonly name: string;
  readonly uid: string;
}

export function ownerOf({ annotations }: Dialect, { metadata }: Secret): TokenOwner {
  const { [annotations.serviceAccountName]: name = '', [annotations.serviceAccountUID]: uid = '' } =
    metadata.annotations ?? {};
  return { name, uid };
}

export function refersTo({ secrets = [] }: ServiceAccount, secret: string): boolean {
  return secrets.some(({ name }) => name === secret);
}

export function withoutReference(account: ServiceAccount, secret: string): ServiceAccount {
  return { ...account, secrets: (account.secrets ?? []).filter(({ name }) => name !== secret) };
}

export function withReference(account: ServiceAccount, secret: string): ServiceAccount {
  return { ...account, secrets: [...(account.secrets ?? []), { name: secret }] };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
