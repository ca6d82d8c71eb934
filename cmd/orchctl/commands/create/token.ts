/** `create token`: a token of a service account. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiObject } from '#client/client.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { nameOf } from '#cmd/orchctl/commands/create/builder.js';
import { objectPrinter, printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

const boundKinds: Readonly<Record<string, string>> = { Pod: 'v1', Secret: 'v1' };

export const token: Command = {
  name: 'token',
  usage: 'SERVICEACCOUNT [--duration DURATION] [--audience AUDIENCE…]',
  summary: 'Request a token of a service account',
  examples: [
    'orchctl create token builder --duration=1h',
    'orchctl create token builder --audience=https://vault.example',
  ],
  options: {
    ...printOptions,
    audience: { type: 'stringArray', section: 'Content', meaning: 'Who may accept the token; may be repeated.' },
    duration: { type: 'duration', section: 'Content', meaning: 'How long it is valid; 0: as the server decides.' },
    'bound-object-kind': {
      type: 'string',
      section: 'Content',
      meaning: 'Kind of the object with which the token ends: Pod or Secret.',
    },
    'bound-object-name': { type: 'string', section: 'Content', meaning: 'Name of that object.' },
    'bound-object-uid': { type: 'string', section: 'Content', meaning: 'UID of that object.' },
  },
  async run(invocation) {
    const { api, namespace, out, values } = invocation;
    const name = nameOf(invocation);
    const spec = specOf(invocation);
    const print = await objectPrinter(values);
    const { dialect, ...catalog } = await served(invocation);
    const request = {
      kind: 'TokenRequest',
      apiVersion: dialect.apiVersion('authentication', 'v1'),
      metadata: {},
      spec,
    };
    const path = objectPath(catalog.accounts, name, { namespace }, 'token');
    const answer = await api
      .json<ApiObject & { status?: { token?: string } }>('POST', path, request)
      .catch((error: unknown) => {
        throw new CommandError(`failed to create token: ${messageOf(error)}`);
      });
    const text = answer.status?.token ?? '';
    if (text === '') throw new CommandError('failed to create token: no token in server response');
    out.write(print?.(answer) ?? (out.isTTY === true ? `${text}\n` : text));
    return 0;
  },
};

async function served({ api }: Invocation) {
  const catalog = await api.catalog();
  return { dialect: catalog.dialect, accounts: catalog.one('serviceaccounts') };
}

function specOf({ values }: Invocation): object {
  const seconds = values.number('duration') / 1000;
  if (seconds < 0) throw new CommandError('--duration must be positive');
  if (!Number.isInteger(seconds)) {
    throw new CommandError('--duration cannot be expressed in units less than seconds');
  }
  const audiences = values.strings('audience');
  if (audiences.includes('')) throw new CommandError('--audience must not be an empty string');
  const [kind = '', name = '', uid = ''] = ['kind', 'name', 'uid'].map((part) => values.string(`bound-object-${part}`));
  if (kind === '') {
    for (const [part, value] of Object.entries({ name, uid })) {
      if (value !== '') {
        throw new CommandError(`--bound-object-${part} can only be set if --bound-object-kind is provided`);
      }
    }
  } else {
    if (!Object.hasOwn(boundKinds, kind)) {
      throw new CommandError(`supported --bound-object-kind values are ${Object.keys(boundKinds).join(', ')}`);
    }
    if (name === '') throw new CommandError('--bound-object-name is required if --bound-object-kind is provided');
  }
  return {
    audiences: audiences.length === 0 ? null : audiences,
    ...(seconds > 0 ? { expirationSeconds: seconds } : {}),
    ...(kind === ''
      ? {}
      : { boundObjectRef: { kind, apiVersion: boundKinds[kind], name, ...(uid === '' ? {} : { uid }) } }),
  };
}
