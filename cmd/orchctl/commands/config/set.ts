/** `config set…`: entries and single values of client configuration files. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Cluster, ExecEntry, User } from '#client/kubeconfig/file.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import type { ConfigStore, Section } from '#cmd/orchctl/commands/config/store.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const embedOption = {
  'embed-certs': { type: 'bool', section: 'Content', meaning: 'Copy certificates and keys into the configuration.' },
} as const;

function onlyName({ args }: Invocation, what: string): string {
  const [name, more] = args;
  if (name === undefined || more !== undefined) throw new UsageError(`Unexpected args: [${args.join(' ')}]`);
  if (name === '') throw new CommandError(`you must specify a non-empty ${what} name`);
  return name;
}

/** The field with the file's path, or with its content. */
function fileField(option: string, path: string, embed: boolean): Record<string, string> {
  if (!embed) return { [option]: resolve(path) };
  try {
    return { [`${option}-data`]: readFileSync(path).toString('base64') };
  } catch (error) {
    throw new CommandError(`could not stat ${option} file ${path}: ${messageOf(error)}`);
  }
}

export const setCluster = {
  name: 'set-cluster',
  usage: 'NAME [--server ADDRESS] [--certificate-authority FILE]',
  summary: 'Create or change a cluster',
  options: {
    ...embedOption,
    'proxy-url': { type: 'string', section: 'Content', meaning: 'Address of the proxy to the server.' },
  },
  run(invocation: Invocation, store: ConfigStore): number {
    const { out, values } = invocation;
    const name = onlyName(invocation, 'cluster');
    const present = store.merged.clusters.find((each) => each.name === name)?.cluster ?? {};
    const cluster: Cluster = { ...present };
    const ca = values.string('certificate-authority') ?? '';
    if (ca !== '' && values.bool('insecure-skip-tls-verify')) {
      throw new CommandError('you cannot specify a certificate authority and insecure mode at the same time');
    }
    if (values.bool('embed-certs') && ca === '') {
      throw new CommandError('you must specify a --certificate-authority to embed');
    }
    for (const option of ['server', 'tls-server-name', 'proxy-url'] as const) {
      const value = values.string(option);
      if (value !== undefined) cluster[option] = value;
    }
    if (values.isSet('insecure-skip-tls-verify')) {
      cluster['insecure-skip-tls-verify'] = values.bool('insecure-skip-tls-verify');
      if (cluster['insecure-skip-tls-verify']) {
        delete cluster['certificate-authority'];
        delete cluster['certificate-authority-data'];
      }
    }
    if (ca !== '') {
      delete cluster['certificate-authority'];
      delete cluster['certificate-authority-data'];
      delete cluster['insecure-skip-tls-verify'];
      Object.assign(cluster, fileField('certificate-authority', ca, values.bool('embed-certs')));
    }
    store.put('clusters', name, { name, cluster } as { name: string });
    out.write(`Cluster ${JSON.stringify(name)} set.\n`);
    return 0;
  },
} as const;

export const setContext = {
  name: 'set-context',
  usage: '(NAME | --current) [--cluster NAME] [--user NAME] [--namespace NAME]',
  summary: 'Create or change a context',
  completes: 'contexts',
  options: { current: { type: 'bool', section: 'Content', meaning: 'Change the current context.' } },
  run({ args, out, values }: Invocation, store: ConfigStore): number {
    const [given, more] = args;
    if (more !== undefined) throw new UsageError(`Unexpected args: [${args.join(' ')}]`);
    if (given !== undefined && values.bool('current')) {
      throw new CommandError('you cannot specify both a context name and --current');
    }
    const name = values.bool('current') ? store.merged['current-context'] : given;
    if (values.bool('current') && name === '') throw new CommandError('no current context is set');
    if (name === undefined || name === '') {
      throw new CommandError('you must specify a non-empty context name or --current');
    }
    const present = store.merged.contexts.find((each) => each.name === name);
    const context: Record<string, string> = { cluster: '', user: '', ...present?.context };
    for (const option of ['cluster', 'user', 'namespace']) {
      const value = values.string(option);
      if (value !== undefined) context[option] = value;
    }
    store.put('contexts', name, { name, context } as { name: string });
    out.write(`Context ${JSON.stringify(name)} ${present === undefined ? 'created' : 'modified'}.\n`);
    return 0;
  },
} as const;

export const setCredentials = {
  name: 'set-credentials',
  usage:
    'NAME [--token TOKEN | --username NAME --password PASSWORD | --client-certificate FILE --client-key FILE | --exec-command PROGRAM]',
  summary: 'Create or change a user',
  options: {
    ...embedOption,
    'exec-command': { type: 'string', section: 'Content', meaning: 'Program that prints credentials.' },
    'exec-api-version': { type: 'string', section: 'Content', meaning: 'API version of that program.' },
    'exec-arg': { type: 'strings', section: 'Content', meaning: 'Argument of that program; may be repeated.' },
    'exec-env': { type: 'stringArray', section: 'Content', meaning: 'NAME=VALUE for that program; may be repeated.' },
  },
  run(invocation: Invocation, store: ConfigStore): number {
    const { out, values } = invocation;
    const name = onlyName(invocation, 'user');
    const user: User = { ...store.merged.users.find((each) => each.name === name)?.user };
    const methods = [
      ...(values.isSet('token') ? ['token'] : []),
      ...(values.isSet('username') || values.isSet('password') ? ['basicauth'] : []),
    ];
    if (methods.length > 1) {
      throw new CommandError(
        `you cannot specify more than one authentication method at the same time: ${methods.join(', ')}`,
      );
    }
    const embed = values.bool('embed-certs');
    if (embed && !values.isSet('client-certificate') && !values.isSet('client-key')) {
      throw new CommandError('you must specify a --client-certificate or --client-key to embed');
    }
    for (const option of ['client-certificate', 'client-key'] as const) {
      const path = values.string(option);
      if (path === undefined) continue;
      delete user[option];
      delete user[`${option}-data`];
      Object.assign(user, fileField(option, path, embed));
    }
    for (const option of ['token', 'username', 'password'] as const) {
      const value = values.string(option);
      if (value !== undefined) user[option] = value;
    }
    if (values.isSet('token')) {
      delete user.username;
      delete user.password;
    } else if (methods.length > 0) delete user.token;
    const program = values.string('exec-command');
    if (program !== undefined) user.exec = execOf(invocation, program);
    store.put('users', name, { name, user } as { name: string });
    out.write(`User ${JSON.stringify(name)} set.\n`);
    return 0;
  },
} as const;

function execOf({ values }: Invocation, command: string): ExecEntry {
  const args = values.strings('exec-arg');
  const env = values.strings('exec-env').map((text) => {
    const at = text.indexOf('=');
    return { name: text.slice(0, at), value: text.slice(at + 1) };
  });
  return {
    apiVersion: values.string('exec-api-version') ?? '',
    command,
    args: args.length === 0 ? null : [...args],
    env: env.length === 0 ? null : env,
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
  };
}

const members: Readonly<Record<Section, string>> = { clusters: 'cluster', contexts: 'context', users: 'user' };

/** `set` and `unset` of one value, such as `contexts.shop.namespace`. */
export function property(name: 'set' | 'unset', summary: string) {
  return {
    name,
    usage: name === 'set' ? 'PROPERTY VALUE' : 'PROPERTY',
    summary,
    run({ args, out }: Invocation, store: ConfigStore): number {
      const [path = '', value] = args;
      if (args.length !== (name === 'set' ? 2 : 1)) throw new UsageError(`Unexpected args: [${args.join(' ')}]`);
      if (path === '') throw new CommandError('you must specify a property');
      change(store, path, value);
      out.write(`Property ${JSON.stringify(path)} ${name === 'set' ? 'set' : 'unset'}.\n`);
      return 0;
    },
  };
}

function change(store: ConfigStore, path: string, value: string | undefined): void {
  if (path === 'current-context') {
    store.setCurrent(value ?? '');
    return;
  }
  const dot = path.indexOf('.');
  const section = path.slice(0, dot < 0 ? undefined : dot);
  if (!Object.hasOwn(members, section)) {
    throw new CommandError(`unable to parse ${path} at clientcmd.Config`);
  }
  const kind = section as Section;
  const rest = dot < 0 ? '' : path.slice(dot + 1);
  const entries = store.merged[kind] as readonly { readonly name: string }[];
  // Names may contain dots.
  const entry = entries.find((each) => rest === each.name) ?? entries.find((each) => rest.startsWith(`${each.name}.`));
  const last = rest.lastIndexOf('.');
  const name = entry?.name ?? rest.slice(0, last < 0 ? undefined : last);
  const field = rest.slice(name.length + 1);
  if (field === '') {
    if (value !== undefined) throw new CommandError("can't set a map to a value");
    store.put(kind, name, undefined);
    return;
  }
  const member = members[kind];
  const content: Record<string, unknown> = { ...(entry as Record<string, object> | undefined)?.[member] };
  if (value === undefined) delete content[field];
  else content[field] = field === 'insecure-skip-tls-verify' ? value === 'true' : value;
  store.put(kind, name, { name, [member]: content } as { name: string });
}
