/** The ways of the server's connections, from the file of `--egress-selector-config-file`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { withPartialTrustChain } from '#apimachinery/net/tls-trust.js';
import { readOptionalFile } from '#apiserver/build/option-files.js';
import { type EgressConnection, type EgressType, type ProxyTls, parseEgressConfig } from '#apiserver/egress/config.js';
import type { Connector } from '#apiserver/egress/connector.js';
import { socketProxy, tcpProxy } from '#apiserver/egress/http-connect.js';
import { createEgressMetrics, EgressSelector } from '#apiserver/egress/selector.js';
import { OptionsError } from '#daemon/options/option.js';

const option = 'egress-selector-config-file';

export interface EgressSetup {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly metrics: Registry;
}

/** Undefined without the option. Throws OptionsError. */
export async function buildEgress(path: string | undefined, setup: EgressSetup): Promise<EgressSelector | undefined> {
  const metrics = createEgressMetrics(setup.metrics);
  const text = await readOptionalFile(option, path);
  if (text === undefined) return undefined;
  try {
    const connectors = new Map<EgressType, Connector>();
    for (const [type, connection] of parseEgressConfig(text, existsSync)) {
      const connector = await connectorOf(connection, setup);
      if (connector !== undefined) connectors.set(type, connector);
    }
    return new EgressSelector({ connectors, clock: setup.clock, metrics });
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(error.messages.map((message) => `--${option}: ${path}: ${message}`));
  }
}

/** Undefined: directly. */
async function connectorOf(
  connection: EgressConnection,
  { clock, random }: EgressSetup,
): Promise<Connector | undefined> {
  if (connection.protocol === 'Direct') return undefined;
  if (connection.transport === 'tcp') {
    return tcpProxy({ url: connection.url, context: connection.tls && (await contextOf(connection.tls)) });
  }
  if (connection.protocol === 'HTTPConnect') return socketProxy(connection.socket);
  // gRPC takes memory and time, which other servers save.
  const { grpcProxy } = await import('#apiserver/egress/grpc-tunnel.js');
  return grpcProxy({ socket: connection.socket, random, setTimer: (fn, ms) => clock.setTimer(fn, ms) });
}

/** The files are read once, as in 1.24. */
async function contextOf({ caBundle = '', clientCert = '', clientKey = '' }: ProxyTls): Promise<SecureContext> {
  try {
    const [cert, key] = await Promise.all([readFile(clientCert), readFile(clientKey)]);
    const ca = caBundle === '' ? undefined : await readFile(caBundle);
    return createSecureContext(withPartialTrustChain({ cert, key, ...(ca === undefined ? {} : { ca }) }));
  } catch (error) {
    throw new OptionsError([`failed to read key pair ${clientCert} & ${clientKey}, got ${messageOf(error)}`]);
  }
}
