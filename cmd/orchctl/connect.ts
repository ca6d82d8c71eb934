/** From command line and configuration file to a connection. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ClientConfig } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { Api, type WebSocketTarget } from '#cmd/orchctl/api/api.js';
import { CommandError, type Terminal, type Values } from '#cmd/orchctl/command.js';

/** Candidates in order; the first that exists is used. */
function configFile(values: Values, env: Terminal['env']): string {
  const named = values.string('config') ?? env['ORCHCONFIG'] ?? env['KUBECONFIG']?.split(':')[0];
  if (named !== undefined && named !== '') return named;
  const home = env['HOME'] ?? homedir();
  const usual = [join(home, '.orch', 'config'), join(home, '.kube', 'config')];
  const found = usual.find((path) => existsSync(path));
  if (found === undefined) {
    throw new CommandError(
      `no client configuration: give --config FILE or set ORCHCONFIG (a cluster made by \`orch up\` has one at DIR/client.config)`,
    );
  }
  return found;
}

export async function connectionOf(values: Values, terminal: Terminal): Promise<ClientConfig> {
  const context = values.string('context');
  const server = values.string('server');
  return loadKubeconfig(configFile(values, terminal.env), {
    clock: terminal.clock,
    ...(context === undefined ? {} : { context }),
    ...(server === undefined ? {} : { server }),
  });
}

export function apiOf(config: ClientConfig, values: Values, terminal: Terminal): Api {
  const { namespace: _namespace, ...target } = config;
  const timeoutMs = values.number('request-timeout');
  const transport = new HttpTransport({
    ...target,
    clock: terminal.clock,
    ...(timeoutMs > 0 ? { timeoutMs } : {}),
  });
  return new Api({ transport, signal: terminal.signal, webSocket: (path) => webSocketTarget(config, path) });
}

async function webSocketTarget(config: ClientConfig, path: string): Promise<WebSocketTarget> {
  const url = new URL(config.server);
  const material = await config.tls?.current();
  const token = await config.token?.token();
  return {
    url: `${url.protocol === 'https:' ? 'wss' : 'ws'}://${url.host}${url.pathname.replace(/\/$/, '')}${path}`,
    headers: { ...config.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    tls: {
      ...(material?.ca === undefined ? {} : { ca: material.ca }),
      ...(material?.cert === undefined ? {} : { cert: material.cert }),
      ...(material?.key === undefined ? {} : { key: material.key }),
      ...(config.serverName === undefined ? {} : { servername: config.serverName }),
      rejectUnauthorized: config.insecureSkipVerify !== true,
    },
  };
}
