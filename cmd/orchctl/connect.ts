/** Creates the connection from command line and configuration files. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { childProcessPlugins } from '#client/kubeconfig/exec-plugin.js';
import { type Cluster, singleContext, type User } from '#client/kubeconfig/file.js';
import { clientConfigFrom, type LoadOptions, loadKubeconfig, loadKubeconfigs } from '#client/kubeconfig/load.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { Api, type WebSocketTarget } from '#cmd/orchctl/api/api.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';
import { Dialer } from '#http/client/dialer.js';

/** The files from the environment, else the first default file that exists. */
function configFiles(env: Terminal['env']): string[] {
  if (variableOf(env) !== '') return namedFiles(env);
  const defaultFile = namedFiles(env).find((path) => existsSync(path));
  if (defaultFile === undefined) {
    throw new CommandError(
      `no client configuration: give --config FILE or set ORCHCONFIG (a cluster made by \`orch up\` has one at DIR/client.config)`,
    );
  }
  return [defaultFile];
}

function variableOf(env: Terminal['env']): string {
  return env['ORCHCONFIG'] || env['KUBECONFIG'] || '';
}

/** The files from the environment, else all default files; they may not exist. */
function namedFiles(env: Terminal['env']): string[] {
  const variable = variableOf(env);
  if (variable !== '') return variable.split(delimiter);
  const home = env['HOME'] ?? homedir();
  return [join(home, '.orch', 'config'), join(home, '.kube', 'config')];
}

const emptyConfig = singleContext({ server: '', clusterName: 'default', userName: 'default' });

export async function connectionOf(values: Values, terminal: Terminal): Promise<ClientConfig> {
  const options = loadOptions(values, terminal);
  const file = values.string('config') ?? '';
  if (file !== '') return loadKubeconfig(file, options);
  // Like 1.24: the command line may say everything that a file says.
  if (options.server !== undefined && namedFiles(terminal.env).every((path) => !existsSync(path)))
    return clientConfigFrom(emptyConfig, { ...options, directory: '.' });
  return loadKubeconfigs(configFiles(terminal.env), options);
}

function loadOptions(values: Values, { clock, env, stdin }: Terminal): LoadOptions {
  const entries = Object.fromEntries(
    (['context', 'server', 'cluster', 'user'] as const).flatMap((name) => {
      const value = values.string(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return {
    clock,
    env,
    plugins: childProcessPlugins(env, stdin.isTTY === true),
    clusterFields: clusterFields(values),
    userFields: userFields(values),
    ...entries,
  };
}

/** Cluster fields set on the command line. Paths are relative to the working directory. */
function clusterFields(values: Values): Cluster {
  const ca = values.string('certificate-authority');
  const name = values.string('tls-server-name');
  return {
    ...(ca === undefined ? {} : { 'certificate-authority': resolve(ca) }),
    ...(name === undefined ? {} : { 'tls-server-name': name }),
    ...(values.isSet('insecure-skip-tls-verify')
      ? { 'insecure-skip-tls-verify': values.bool('insecure-skip-tls-verify') }
      : {}),
  };
}

/** User fields set on the command line. */
function userFields(values: Values): User {
  const fields: User = {};
  for (const name of ['token', 'username', 'password', 'as', 'as-uid'] as const) {
    const value = values.string(name);
    if (value !== undefined) fields[name] = value;
  }
  for (const name of ['client-certificate', 'client-key'] as const) {
    const value = values.string(name);
    if (value !== undefined) fields[name] = resolve(value);
  }
  const groups = values.strings('as-group');
  if (groups.length > 0) fields['as-groups'] = [...groups];
  return fields;
}

export function apiOf(config: ClientConfig, values: Values, terminal: Terminal): Api {
  const { namespace: _namespace, ...target } = config;
  const timeoutMs = values.number('request-timeout');
  const transport = new HttpTransport({
    ...target,
    clock: terminal.clock,
    ...(timeoutMs > 0 ? { timeoutMs } : {}),
  });
  const { clock, err, signal } = terminal;
  const warn = (text: string) => err.write(`Warning: ${text}\n`);
  return new Api({ transport, clock, signal, warn, webSocket: (path) => webSocketTarget(config, path, terminal) });
}

async function webSocketTarget(config: ClientConfig, path: string, { clock }: Terminal): Promise<WebSocketTarget> {
  const { serverName, insecureSkipVerify, proxy } = config;
  const server = new URL(config.server);
  const [material, token] = await Promise.all([config.tls?.current(), config.token?.token()]);
  const dialer = new Dialer({ server, serverName, insecureSkipVerify, proxy, clock, tunnel: true }, material);
  return {
    // The dialer adds TLS if needed.
    url: `ws://${server.host}${server.pathname.replace(/\/$/, '')}${path}`,
    headers: {
      ...config.headers,
      ...(token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` }),
    },
    dial: async () => (await dialer.dial(['http/1.1'])).socket,
  };
}
