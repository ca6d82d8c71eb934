/** Builds the server from the options: certificates from files or self-signed, access checks by the API server. */
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';
import { DelegatedAuthenticator } from '#daemon/serving/authenticator.js';
import { DelegatedAuthorizer } from '#daemon/serving/authorizer.js';
import { CertificateAuthorities } from '#daemon/serving/certificate-authorities.js';
import { CertificateReloader } from '#daemon/serving/certificate-reloader.js';
import type { DelegatedAuth } from '#daemon/serving/delegated-auth.js';
import { countedReviews } from '#daemon/serving/review-metrics.js';
import {
  loadServingCertificates,
  type ServingCertificates,
  servingFiles,
} from '#daemon/serving/serving-certificate.js';
import type { ReviewClient } from '#daemon/serving/user.js';
import { servingCertificateManager } from '#nodeagent/certificates/managers.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { AgentServer, AgentServerFactory, AgentServerInput } from '#nodeagent/server/agent-server.js';
import { type ServingAgent, serveAgent } from '#nodeagent/server/server.js';
import type { KeyCertificate } from '#pki/certificate.js';

export interface StandardServerOptions {
  /** For token and access reviews, and certificate requests. */
  readonly client: Client;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly nodeName: string;
  readonly metrics?: Registry;
  /** Serves `/configz`, `/debug/pprof/` and `/debug/flags/v`; only for standalone processes. */
  readonly debug?: DebugEndpoints;
  /** If another process has the configured port, uses a free one. */
  readonly isPortOnlyPreferred?: boolean;
}

/** Implements the mode AlwaysAllow. */
const alwaysAllow: ReviewClient = {
  request: <R>() => Promise.resolve({ status: { allowed: true } } as R),
};

async function readBundle(file: string): Promise<string | undefined> {
  if (file === '') return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new OptionsError([`--client-ca-file: cannot read ${file}: ${(error as Error).message}`]);
  }
}

/** Authentication and authorization by the agent's options; the CA bundle may be replaced at run time. */
interface AgentAuth extends DelegatedAuth {
  /** PEM; undefined without client certificates. */
  readonly bundle: string | undefined;
  /** Throws for an invalid bundle, and keeps the current one. */
  use(bundle: string | undefined): void;
}

/** Throws OptionsError for an invalid bundle. */
async function agentAuth(values: NodeAgentOptions, options: StandardServerOptions): Promise<AgentAuth> {
  const { client, dialect, clock } = options;
  const authenticatorOf = (pem: string | undefined) =>
    new DelegatedAuthenticator({
      dialect,
      clock,
      anonymous: values['anonymous-auth'],
      tokenTtlMs: values['authentication-token-webhook-cache-ttl'],
      reviewClient: values['authentication-token-webhook'] ? countedReviews(client, 'authn', options) : undefined,
      clientAuthorities: pem === undefined ? undefined : new CertificateAuthorities(pem),
    });
  let bundle = await readBundle(values['client-ca-file'] ?? '');
  let authenticator = authenticatorOf(bundle);
  return {
    get authenticator() {
      return authenticator;
    },
    authorizer: new DelegatedAuthorizer({
      dialect,
      clock,
      reviewClient: values['authorization-mode'] === 'Webhook' ? countedReviews(client, 'authz', options) : alwaysAllow,
      allowedTtlMs: values['authorization-webhook-cache-authorized-ttl'],
      deniedTtlMs: values['authorization-webhook-cache-unauthorized-ttl'],
      alwaysAllowPaths: ['/healthz'],
    }),
    get bundle() {
      return bundle;
    },
    get asksForCertificates() {
      return bundle !== undefined;
    },
    get clientCaPems() {
      return bundle === undefined ? [] : [bundle];
    },
    use(next) {
      if (next === bundle) return;
      authenticator = authenticatorOf(next);
      bundle = next;
    },
  };
}

/** Creates the server when the agent starts. */
export function standardServer(options: StandardServerOptions): AgentServerFactory {
  return async (input) => {
    const values = input.options;
    const auth = await agentAuth(values, options);
    const { metrics } = options;
    holdCertificate(metrics, 'client-authority', () => auth.bundle);
    // Configured certificate files take precedence.
    const asks = values['rotate-server-certificates'] && (values['tls-cert-file'] ?? '') === '';
    return asks ? serveWithRequested(input, { ...options, auth }) : serveWithFiles(input, { ...options, auth });
  };
}

interface WithAuth extends StandardServerOptions {
  readonly auth: AgentAuth;
}

/** Serves with configured certificate files, or with a self-signed certificate. */
async function serveWithFiles(input: AgentServerInput, options: WithAuth): Promise<AgentServer> {
  const values = input.options;
  const named = {
    'tls-cert-file': values['tls-cert-file'],
    'tls-private-key-file': values['tls-private-key-file'],
    'tls-sni-cert-key': [],
  };
  const load = () =>
    loadServingCertificates({
      values: { ...named, 'cert-dir': values['cert-dir'], 'bind-address': input.node.hostIP() },
      name: options.dialect.components.nodeAgent,
      clock: options.clock,
    });
  let certificates = await load();
  holdCertificate(options.metrics, 'serving', () => certificates.pair.cert);
  return serveWithReload(input, options, {
    files: servingFiles(named),
    load,
    current: certificates,
    apply(next) {
      certificates = next;
    },
  });
}

interface ReloadedServing {
  readonly files: readonly string[];
  readonly load: () => Promise<ServingCertificates | undefined>;
  readonly current: ServingCertificates | undefined;
  readonly apply: (next: ServingCertificates) => void;
}

/** Serves; replaced certificates and authorities apply to new connections. */
async function serveWithReload(
  input: AgentServerInput,
  options: WithAuth,
  { apply, current, files, load }: ReloadedServing,
): Promise<ServingAgent> {
  const { auth, clock, log } = options;
  const bundleFile = input.options['client-ca-file'] ?? '';
  let server: ServingAgent | undefined;
  const reloader = new CertificateReloader({
    load: async () => ({ certificates: await load(), bundle: await readBundle(bundleFile) }),
    apply: ({ bundle, certificates }) => {
      auth.use(bundle);
      if (certificates === undefined) return;
      apply(certificates);
      server?.replaceCertificates(certificates);
    },
    current: { certificates: current, bundle: auth.bundle },
    files: bundleFile === '' ? files : [...files, bundleFile],
    clock,
    log,
  });
  server = await serveAgent(input, {
    ...options,
    certificates: current,
    // Never rejects; the current connection does not wait for it.
    onConnection: () => void reloader.check(),
  });
  return server;
}

/** Serves with a certificate from the cluster: listens at once, and accepts handshakes once it has been issued. */
async function serveWithRequested(input: AgentServerInput, options: WithAuth): Promise<AgentServer> {
  const { nodeName, client } = options;
  const manager = servingCertificateManager({
    ...options,
    directory: input.options['cert-dir'],
    client: () => client,
    addresses() {
      const ips = input.node.hostIPs();
      return ips.length === 0 ? undefined : [nodeName, ...ips];
    },
  });
  await manager.load();
  const current = () => {
    const pair = manager.current;
    return pair === undefined ? undefined : servingCertificates(pair);
  };
  const server = await serveWithReload(input, options, {
    files: [],
    load: async () => current(),
    current: current(),
    apply: () => undefined,
  });
  manager.onChange((pair) => server.replaceCertificates(servingCertificates(pair)));
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  return {
    port: server.port,
    async close() {
      stop.abort();
      await running;
      await server.close();
    },
  };
}

function servingCertificates({ certificate, privateKey }: KeyCertificate): ServingCertificates {
  return { pair: { cert: certificate, key: privateKey }, sni: [] };
}
