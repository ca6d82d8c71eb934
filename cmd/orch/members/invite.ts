/** Puts an invitation, sealed, where the token of a server can read it. It goes when the token ends. */
import { secrets } from '#api/core/v1/resources.gen.js';
import {
  type BootstrapToken,
  bootstrapTokenSecret,
  bootstrapTokenUsages,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type { Client } from '#client/client.js';
import { type Invitation, parseInvitation } from '#cmd/orch/members/invitation.js';
import { type ServerToken, seal, unseal } from '#cmd/orch/members/server-token.js';

const sealedKey = 'sealed';

function invitationName({ id }: BootstrapToken): string {
  return `server-invitation-${id}`;
}

/** @param expiresAt Milliseconds since the epoch. */
export async function invite(
  client: Client,
  invitation: Invitation,
  { token, expiresAt }: { readonly token: ServerToken; readonly expiresAt: number },
): Promise<void> {
  const { dialect } = client;
  const namespace = dialect.namespaces.system;
  const description = 'Makes a machine a server of the cluster.';
  const made = await client
    .resource(secrets)
    .create(bootstrapTokenSecret(dialect, { token, description, expiresAt, usages: bootstrapTokenUsages, groups: [] }));
  const { name: owner = '', uid = '' } = made.metadata;
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

/** As the user of the token. Throws StatusErrors, and an Error for a key that does not fit. */
export async function openInvitation(client: Client, token: ServerToken): Promise<Invitation> {
  const namespace = client.dialect.namespaces.system;
  const secret: Secret = await client.resource(secrets).get(invitationName(token), { namespace });
  const sealed = Buffer.from(secret.data?.[sealedKey] ?? '', 'base64').toString('utf8');
  return parseInvitation(unseal(sealed, token));
}
