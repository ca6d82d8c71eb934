/** Bootstrap tokens, with which nodes join: made, listed and taken back. */
import { randomInt } from 'node:crypto';
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
import { alignColumns } from '#cmd/orchctl/print/columns.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { publicKeyPin } from '#pki/keys.js';

const dayMs = 24 * 3_600_000;

export const token: Command = {
  name: 'token',
  usage: '(create [TOKEN] | list | delete TOKEN…)',
  summary: 'Make, list and take back the tokens with which nodes join',
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
      meaning: 'create: how long the token is good; 0: until it is deleted.',
    },
    description: { type: 'string', section: 'Creating', meaning: 'create: what the token is for, for people.' },
    usages: {
      type: 'strings',
      default: [...bootstrapTokenUsages],
      section: 'Creating',
      meaning: 'create: what the token is good for: signing (to know the cluster by), authentication (to be known by).',
    },
    groups: {
      type: 'strings',
      section: 'Creating',
      meaning: 'create: groups of whoever has the token, system:bootstrappers:…. Default: that of nodes that join.',
    },
    'print-join-command': {
      type: 'bool',
      section: 'Output',
      meaning: 'create: print the whole command that makes another machine join, instead of the token alone.',
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
        throw new UsageError('say what to do: token create, token list or token delete');
    }
  },
};

async function create({ api, values, clock, out }: Invocation, args: readonly string[]): Promise<number> {
  const [text, ...more] = args;
  if (more.length > 0) throw new UsageError('token create makes one token');
  const made = text === undefined ? newBootstrapToken((end) => randomInt(end)) : parseBootstrapToken(text);
  if (made === undefined) {
    throw new UsageError(
      'a token is six and sixteen letters a to z or digits with a point between: abcdef.0123456789abcdef',
    );
  }
  const { dialect } = await api.catalog();
  const client = await api.client(dialect);
  const usages = values.strings('usages');
  const strange = usages.find((usage) => !(bootstrapTokenUsages as readonly string[]).includes(usage));
  if (strange !== undefined)
    throw new UsageError(`--usages: "${strange}" is none of ${bootstrapTokenUsages.join(', ')}`);
  const given = values.strings('groups');
  const groups = given.length > 0 ? given : usages.includes('authentication') ? [joiningGroup(dialect)] : [];
  const groupPrefix = `${dialect.groups.bootstrappers}:`;
  const wrong = groups.find((group) => !group.startsWith(groupPrefix));
  if (wrong !== undefined) throw new UsageError(`--groups: "${wrong}" does not begin with ${groupPrefix}`);
  const command = values.bool('print-join-command') ? await joinCommand(client, made) : undefined;
  const ttlMs = values.number('ttl');
  const secret = bootstrapTokenSecret(dialect, {
    token: made,
    description: values.string('description') ?? '',
    expiresAt: ttlMs === 0 ? undefined : clock.now() + ttlMs,
    usages,
    groups,
  });
  await client.resource(secrets).create(secret);
  out.write(`${command ?? `${made.id}.${made.secret}`}\n`);
  return 0;
}

/** By what the cluster tells of itself. */
async function joinCommand(client: Client, { id, secret }: BootstrapToken): Promise<string> {
  const { dialect } = client;
  const namespace = dialect.namespaces.public;
  let text: string;
  try {
    const map = await client.resource(configmaps).get(clusterInfoName, { namespace });
    text = map.data?.[clusterInfoKey(dialect)] ?? '';
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new CommandError(`the cluster tells nobody where it is: it has no ConfigMap ${namespace}/${clusterInfoName}`);
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
    err.write('There are no tokens. Make one with: orchctl token create --print-join-command\n');
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
  if (args.length === 0) throw new UsageError('name the tokens to delete, or their ids');
  const ids = args.map((text) => {
    const id = parseBootstrapToken(text)?.id ?? bootstrapTokenIdOf(bootstrapTokenName(text));
    if (id === undefined) throw new UsageError(`"${text}" is no token, and no id of one: six letters a to z or digits`);
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
