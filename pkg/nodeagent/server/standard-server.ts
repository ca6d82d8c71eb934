/** The server as the options describe it: certificates from files or self-signed, access as the API server says. */
import { readFile } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/errors.js';
import { DelegatedAuthenticator } from '#daemon/serving/authenticator.js';
import { DelegatedAuthorizer } from '#daemon/serving/authorizer.js';
import { CertificateAuthorities } from '#daemon/serving/certificate-authorities.js';
import type { DelegatedAuth } from '#daemon/serving/delegated-auth.js';
import { countedReviews } from '#daemon/serving/review-series.js';
import { loadServingCertificates, type ServingCertificates } from '#daemon/serving/serving-certificate.js';
import type { ReviewClient } from '#daemon/serving/user.js';
import { servingCertificateManager } from '#nodeagent/certificates/managers.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { AgentServer, AgentServerFactory, AgentServerInput } from '#nodeagent/server/agent-server.js';
import { serveAgent } from '#nodeagent/server/server.js';
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

/** Who may use the server, by the agent's options. Throws OptionsError for a bundle that cannot be used. */
async function agentAuth(values: NodeAgentOptions, options: StandardServerOptions): Promise<DelegatedAuth> {
  const { client, dialect, clock } = options;
  const pem = await readBundle(values['client-ca-file'] ?? '');
  return {
    authenticator: new DelegatedAuthenticator({
      dialect,
      clock,
      anonymous: values['anonymous-auth'],
      tokenTtlMs: values['authentication-token-webhook-cache-ttl'],
      reviewClient: values['authentication-token-webhook'] ? countedReviews(client, 'authn', options) : undefined,
      clientAuthorities: pem === undefined ? undefined : new CertificateAuthorities(pem),
    }),
    authorizer: new DelegatedAuthorizer({
      dialect,
      clock,
      reviewClient: values['authorization-mode'] === 'Webhook' ? countedReviews(client, 'authz', options) : alwaysAllow,
      allowedTtlMs: values['authorization-webhook-cache-authorized-ttl'],
      deniedTtlMs: values['authorization-webhook-cache-unauthorized-ttl'],
      alwaysAllowPaths: ['/healthz'],
    }),
    clientCaPems: pem === undefined ? [] : [pem],
  };
}

/** Makes the server of an agent when that starts. */
export function standardServer(options: StandardServerOptions): AgentServerFactory {
  return async (input) => {
    const values = input.options;
    const auth = await agentAuth(values, options);
    // Files that are given are what is wanted.
    const asks = values['rotate-server-certificates'] && (values['tls-cert-file'] ?? '') === '';
    if (asks) return serveWithRequested(input, { ...options, auth });
    const certificates = await loadServingCertificates({
      values: {
        'tls-cert-file': values['tls-cert-file'],
        'tls-private-key-file': values['tls-private-key-file'],
        'tls-sni-cert-key': [],
        'cert-dir': values['cert-dir'],
        'bind-address': input.node.hostIP(),
      },
      name: options.dialect.components.nodeAgent,
      clock: options.clock,
    });
    return serveAgent(input, { ...options, certificates, auth });
  };
}

/** With a certificate that the cluster is asked for: it listens already, and serves when the certificate is there. */
async function serveWithRequested(
  input: AgentServerInput,
  options: StandardServerOptions & { readonly auth: DelegatedAuth },
): Promise<AgentServer> {
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
  const { current } = manager;
  const certificates = current && servedBy(current);
  const server = await serveAgent(input, { ...options, certificates });
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
