/** The server as the options describe it: certificates from files or self-signed, access as the API server says. */
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
  /** For token and access reviews, and to ask for certificates. */
  readonly client: Client;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly nodeName: string;
  readonly metrics?: Registry;
  /** `/configz`, `/debug/pprof/` and `/debug/flags/v`; for programs of their own. */
  readonly debug?: DebugEndpoints;
  /** Where somebody else has the port of the options, any free one will do. */
  readonly isPortOnlyPreferred?: boolean;
}

/** Answers every question about access with yes: the mode AlwaysAllow. */
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

/** Who may use the server, by the agent's options; the bundle may be replaced while it runs. */
interface AgentAuth extends DelegatedAuth {
  /** PEM; undefined where nobody is known by a certificate. */
  readonly bundle: string | undefined;
  /** Throws for a bundle that cannot be used; the one before stays in use then. */
  use(bundle: string | undefined): void;
}

/** Throws OptionsError for a bundle that cannot be used. */
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

/** Makes the server of an agent when that starts. */
export function standardServer(options: StandardServerOptions): AgentServerFactory {
  return async (input) => {
    const values = input.options;
    const auth = await agentAuth(values, options);
    const { metrics } = options;
    holdCertificate(metrics, 'client-authority', () => auth.bundle);
    // Files that are given are what is wanted.
    const asks = values['rotate-server-certificates'] && (values['tls-cert-file'] ?? '') === '';
    return asks ? serveWithRequested(input, { ...options, auth }) : serveWithFiles(input, { ...options, auth });
  };
}

interface WithAuth extends StandardServerOptions {
  readonly auth: AgentAuth;
}

/** With the certificate of the options' files, or with one that the agent has made itself. */
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
  return following(input, options, {
    files: servingFiles(named),
    load,
    current: certificates,
    apply(next) {
      certificates = next;
    },
  });
}

interface FollowedServing {
  readonly files: readonly string[];
  readonly load: () => Promise<ServingCertificates | undefined>;
  readonly current: ServingCertificates | undefined;
  readonly apply: (next: ServingCertificates) => void;
}

/** Serves; certificates and authorities that were replaced are those of connections from then on. */
async function following(
  input: AgentServerInput,
  options: WithAuth,
  { apply, current, files, load }: FollowedServing,
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
    // Never rejects; the connection at hand does not wait for it.
    onConnection: () => void reloader.check(),
  });
  return server;
}

/** With a certificate that the cluster is asked for: it listens already, and serves when the certificate is there. */
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
    return pair === undefined ? undefined : servedBy(pair);
  };
  const server = await following(input, options, {
    files: [],
    load: async () => current(),
    current: current(),
    apply: () => undefined,
  });
  manager.onChange((pair) => server.replaceCertificates(servedBy(pair)));
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

function servedBy({ certificate, privateKey }: KeyCertificate): ServingCertificates {
  return { pair: { cert: certificate, key: privateKey }, sni: [] };
}
