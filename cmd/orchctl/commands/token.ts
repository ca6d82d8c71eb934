/** Creates, lists and deletes bootstrap tokens, with which nodes join. */
import { clusterInfoKey, clusterInfoName } from '#api/core/v1/configmap/cluster-info.js';
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import {
  type BootstrapToken,
  bootstrapTokenExpiryMs,
  bootstrapTokenIdOf,
  bootstrapTokenName,
  bootstrapTokenSecret,
  bootstrapTokenSelector,
  bootstrapTokenText,
  bootstrapTokenUsages,
  joiningGroup,
  newBootstrapToken,
  parseBootstrapToken,
} from '#api/core/v1/secret/bootstrap-token.js';
import type { Secret } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { humanDuration } from '#cmd/orchctl/print/age.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { publicKeyPin } from '#pki/keys.js';

const dayMs = 24 * 3_600_000;

export const token: Command = {
  name: 'token',
  usage: '(create [TOKEN] | list | delete TOKEN…)',
  summary: 'Create, list and delete tokens for joining nodes',
  examples: [
    'orchctl token create --print-join-command',
    'orchctl token create --ttl 1h --description "the rack by the door"',
    'orchctl token list',
    'orchctl token delete abcdef',
  ],
  options: {
    ttl: {
      type: 'duration',
      default: dayMs,
      min: 0,
      section: 'Creating',
      meaning: 'create: how long the token is valid; 0: until it is deleted.',
    },
    description: { type: 'string', section: 'Creating', meaning: 'create: description of the token.' },
    usages: {
      type: 'strings',
      default: [...bootstrapTokenUsages],
      section: 'Creating',
      meaning: 'create: uses of the token: signing (verifies the cluster), authentication (identifies the node).',
    },
    groups: {
      type: 'strings',
      section: 'Creating',
      meaning: 'create: groups of users of the token, system:bootstrappers:…. Default: the group of joining nodes.',
    },
    'print-join-command': {
      type: 'bool',
      section: 'Output',
      meaning: 'create: print the full command for joining another machine, instead of the token alone.',
    },
  },
  async run(invocation) {
    const [action, ...rest] = invocation.args;
    switch (action) {
      case 'create':
        return create(invocation, rest);
      case 'list':
        return list(invocation, rest);
      case 'delete':
        return remove(invocation, rest);
      default:
        throw new UsageError('use: token create, token list or token delete');
    }
  },
};

async function create({ api, values, clock, out }: Invocation, args: readonly string[]): Promise<number> {
  const [text, ...more] = args;
  if (more.length > 0) throw new UsageError('token create takes one token at most');
  const newToken = text === undefined ? newBootstrapToken() : parseBootstrapToken(text);
  if (newToken === undefined) {
    throw new UsageError(
      'a token has 6 and 16 characters a to z or 0 to 9, separated by a dot: abcdef.0123456789abcdef',
    );
  }
  const { dialect } = await api.catalog();
  const client = await api.client(dialect);
  const usages = values.strings('usages');
  const strange = usages.find((usage) => !(bootstrapTokenUsages as readonly string[]).includes(usage));
  if (strange !== undefined)
    throw new UsageError(`--usages: "${strange}" is not one of ${bootstrapTokenUsages.join(', ')}`);
  const groupOptions = values.strings('groups');
  const groups =
    groupOptions.length > 0 ? groupOptions : usages.includes('authentication') ? [joiningGroup(dialect)] : [];
  const groupPrefix = `${dialect.groups.bootstrappers}:`;
  const wrong = groups.find((group) => !group.startsWith(groupPrefix));
  if (wrong !== undefined) throw new UsageError(`--groups: "${wrong}" does not begin with ${groupPrefix}`);
  const command = values.bool('print-join-command') ? await joinCommand(client, newToken) : undefined;
  const ttlMs = values.number('ttl');
  const secret = bootstrapTokenSecret(dialect, {
    token: newToken,
    description: values.string('description') ?? '',
    expiresAt: ttlMs === 0 ? undefined : clock.now() + ttlMs,
    usages,
    groups,
  });
  await client.resource(secrets).create(secret);
  out.write(`${command ?? `${newToken.id}.${newToken.secret}`}\n`);
  return 0;
}

/** The join command, from the cluster's public information. */
async function joinCommand(client: Client, { id, secret }: BootstrapToken): Promise<string> {
  const { dialect } = client;
  const namespace = dialect.namespaces.public;
  let text: string;
  try {
    const map = await client.resource(configmaps).get(clusterInfoName, { namespace });
    text = map.data?.[clusterInfoKey(dialect)] ?? '';
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CommandError(
      `the cluster does not publish its address: there is no ConfigMap ${namespace}/${clusterInfoName}`,
    );
  }
  const [entry] = parseKubeconfig(text, `ConfigMap ${namespace}/${clusterInfoName}`).clusters;
  const { server = '', 'certificate-authority-data': ca = '' } = entry?.cluster ?? {};
  const pin = publicKeyPin(Buffer.from(ca, 'base64'));
  return `orch join ${server} --token ${id}.${secret} --ca-hash ${pin}`;
}

async function list({ api, clock, out, err }: Invocation, args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError('token list takes no arguments');
  const { dialect } = await api.catalog();
  const { items } = await (await api.client(dialect)).resource(secrets).list(bootstrapTokenSelector(dialect));
  if (items.length === 0) {
    err.write('There are no tokens. Create one with: orchctl token create --print-join-command\n');
    return 0;
  }
  const rows = items.map((secret) => row(secret, clock.now()));
  const header = ['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'];
  out.write(`${alignColumns([header, ...rows]).join('\n')}\n`);
  return 0;
}

function row(secret: Secret, nowMs: number): string[] {
  const text = (key: string) => bootstrapTokenText(secret, key);
  const endsAt = bootstrapTokenExpiryMs(secret);
  const [ttl, expires] = Number.isFinite(endsAt)
    ? [endsAt > nowMs ? humanDuration(endsAt - nowMs) : '<ended>', formatTime(endsAt)]
    : endsAt > 0
      ? ['<forever>', '<never>']
      : ['<invalid>', '<invalid>'];
  const usages = bootstrapTokenUsages.filter((usage) => text(`usage-bootstrap-${usage}`) === 'true');
  return [
    `${text('token-id')}.${text('token-secret')}`,
    ttl,
    expires,
    usages.join(',') || '<none>',
    text('description') || '<none>',
    text('auth-extra-groups') || '<none>',
  ];
}

async function remove({ api, out }: Invocation, args: readonly string[]): Promise<number> {
  if (args.length === 0) throw new UsageError('specify the tokens to delete, or their IDs');
  const ids = args.map((text) => {
    const id = parseBootstrapToken(text)?.id ?? bootstrapTokenIdOf(bootstrapTokenName(text));
    if (id === undefined) throw new UsageError(`"${text}" is not a token or a token ID: 6 characters a to z or 0 to 9`);
    return id;
  });
  const { dialect } = await api.catalog();
  const client = (await api.client(dialect)).resource(secrets);
  for (const id of ids) {
    await client.delete(bootstrapTokenName(id), { namespace: dialect.namespaces.system });
    out.write(`token ${id} deleted\n`);
  }
  return 0;
}
