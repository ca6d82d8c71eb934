/**
 * The invitation of a new server: the cluster's settings, its authorities with their keys, and the addresses of etcd. It is
 * stored encrypted, readable with the server's token, and deleted with the token.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { secrets } from '#api/core/v1/resources.gen.js';
import {
  type BootstrapToken,
  bootstrapTokenSecret,
  bootstrapTokenUsages,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { type ServerToken, seal, unseal } from '#cluster/members/server-token.js';
import { replaceFile } from '#cluster/process/replace-file.js';

const sharedSettings = ['dialect', 'apiPort', 'serviceRange', 'podRange'] as const;

export interface Invitation {
  readonly settings: Pick<ClusterSettings, (typeof sharedSettings)[number]>;
  /** Client URLs of etcd. */
  readonly etcd: readonly string[];
  /** Contents of `authorityFiles`, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** Files that all servers share; everything else is signed with them. */
const authorityFiles = [
  'ca.crt',
  'ca.key',
  'front-proxy-ca.crt',
  'front-proxy-ca.key',
  'etcd-ca.crt',
  'etcd-ca.key',
  'sa.key',
  'sa.pub',
] as const;

/** Throws the file system's errors. */
export function invitationOf(layout: Layout, settings: ClusterSettings, etcd: readonly string[]): Invitation {
  const { dialect, apiPort, serviceRange, podRange } = settings;
  const files = authorityFiles.map((name) => [name, readFileSync(join(layout.pki, name), 'utf8')]);
  return { settings: { dialect, apiPort, serviceRange, podRange }, etcd, files: Object.fromEntries(files) };
}

/** Throws an Error for a text that is no complete invitation. */
export function parseInvitation(text: string): Invitation {
  const value = JSON.parse(text) as Partial<Invitation> | null;
  const { settings, etcd, files } = value ?? {};
  const missing = [
    ...sharedSettings.filter((name) => settings?.[name] === undefined),
    ...authorityFiles.filter((name) => typeof files?.[name] !== 'string'),
    ...(Array.isArray(etcd) && etcd.length > 0 ? [] : ['etcd']),
  ];
  if (settings === undefined || etcd === undefined || files === undefined || missing.length > 0)
    throw new Error(`the invitation from the cluster lacks ${missing.join(', ')}`);
  return { settings, etcd, files };
}

/** Writes the authorities, readable for the owner only. File names come from this program, never from the cluster. */
export function writeAuthorities(layout: Layout, { files }: Invitation): void {
  for (const name of authorityFiles) replaceFile(join(layout.pki, name), files[name] ?? '');
}

const sealedKey = 'sealed';

function invitationName({ id }: BootstrapToken): string {
  return `server-invitation-${id}`;
}

/** Creates the token, and the sealed invitation that it may read. @param expiresAt Milliseconds since the epoch. */
export async function invite(
  client: Client,
  invitation: Invitation,
  { token, expiresAt }: { readonly token: ServerToken; readonly expiresAt: number },
): Promise<void> {
  const { dialect } = client;
  const namespace = dialect.namespaces.system;
  const description = 'Makes a machine a server of the cluster.';
  const secret = await client
    .resource(secrets)
    .create(bootstrapTokenSecret(dialect, { token, description, expiresAt, usages: bootstrapTokenUsages, groups: [] }));
  const { name: owner = '', uid = '' } = secret.metadata;
  const name = invitationName(token);
  const metadata = {
    ...{ name, namespace },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: owner, uid }],
  };
  const apiGroup = dialect.groupName('rbac');
  await client.resource(secrets).create({
    metadata,
    type: 'Opaque',
    data: { [sealedKey]: Buffer.from(seal(JSON.stringify(invitation), token)).toString('base64') },
  });
  await client.resource(roles).create({
    metadata,
    rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: [name], verbs: ['get'] }],
  });
  await client.resource(rolebindings).create({
    metadata,
    roleRef: { apiGroup, kind: 'Role', name },
    subjects: [{ kind: 'User', apiGroup, name: `${dialect.users.bootstrapPrefix}${token.id}` }],
  });
}

/** Reads the invitation with a client of the token's user. Throws StatusErrors, and an Error for a wrong key. */
export async function openInvitation(client: Client, token: ServerToken): Promise<Invitation> {
  const namespace = client.dialect.namespaces.system;
  const secret: Secret = await client.resource(secrets).get(invitationName(token), { namespace });
  const sealed = Buffer.from(secret.data?.[sealedKey] ?? '', 'base64').toString('utf8');
  return parseInvitation(unseal(sealed, token));
}
