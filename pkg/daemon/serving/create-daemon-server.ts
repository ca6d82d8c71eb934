/** Builds a daemon's server from the common options. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import type { Logger } from '#daemon/log/logger.js';
import { metricsView } from '#daemon/metrics/registry.js';
import type { DelegatedAuthValues } from '#daemon/options/groups/authentication.js';
import type { MetricsValues } from '#daemon/options/groups/metrics.js';
import type { ServingValues } from '#daemon/options/groups/serving.js';
import { CertificateReloader } from '#daemon/serving/certificate-reloader.js';
import { DaemonServer, type DaemonServerOptions } from '#daemon/serving/daemon-server.js';
import { authorityFiles, createDelegatedAuth } from '#daemon/serving/delegated-auth.js';
import type { HealthChecks } from '#daemon/serving/health.js';
import { loadServingCertificates, ownServingFiles, servingFiles } from '#daemon/serving/serving-certificate.js';
import type { ReviewClient } from '#daemon/serving/user.js';
import { memoryFileStore } from '#pki/file-store.js';

export interface CreateDaemonServerOptions
  extends Pick<DaemonServerOptions, 'attributes' | 'routes' | 'upgrade' | 'debug' | 'limits'> {
  /** The daemon's name, also of the self-signed certificate and its files. */
  readonly name: string;
  readonly values: ServingValues & DelegatedAuthValues & Partial<MetricsValues>;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly health: HealthChecks;
  readonly metrics?: Registry;
  readonly authenticationClient?: ReviewClient | undefined;
  readonly authorizationClient?: ReviewClient | undefined;
  /** Replaces the port option, and 0 means any free port; for several daemons of a kind on one machine. */
  readonly port?: number;
}

/** The server, not yet listening; undefined if `--secure-port` is 0. Throws OptionsError for unusable files. */
export async function createDaemonServer(options: CreateDaemonServerOptions): Promise<DaemonServer | undefined> {
  const { values, name, dialect, clock, log, health, metrics, attributes, routes, upgrade, debug, limits } = options;
  if (options.port === undefined && values['secure-port'] === 0) return undefined;
  const memory = memoryFileStore();
  const certificates = await loadServingCertificates({ values, name, clock, memory });
  const { authenticationClient, authorizationClient } = options;
  const clients = { authenticationClient, authorizationClient };
  const auth = await createDelegatedAuth({ values, dialect, clock, log, metrics, ...clients });
  let serving = certificates;
  holdCertificate(metrics, 'serving', () => serving.pair.cert);
  holdCertificate(metrics, 'client-authority', () => auth.current.clientCa);
  holdCertificate(metrics, 'front-proxy-authority', () => auth.current.requestHeaderCa);
  const reloader = new CertificateReloader({
    load: async () => ({
      certificates: await loadServingCertificates({ values, name, clock, memory }),
      settings: await auth.settings(),
    }),
    apply: (replaced) => {
      auth.use(replaced.settings);
      serving = replaced.certificates;
      server.replaceCertificates(replaced.certificates);
    },
    current: { certificates, settings: auth.current },
    isWanting: () => auth.isUnsettled,
    files: [...servingFiles(values), ...ownServingFiles(values, name), ...authorityFiles(values)],
    clock,
    log,
  });
  // Never rejects; connections and requests do not wait for it.
  const look = () => void reloader.check().catch(() => undefined);
  const server = new DaemonServer({
    bindAddress: values['bind-address'],
    port: options.port ?? values['secure-port'],
    sharesPort: values['permit-port-sharing'],
    certificates,
    cipherSuites: values['tls-cipher-suites'],
    minVersion: values['tls-min-version'],
    auth,
    health,
    log,
    clock,
    onConnection: look,
    // A client that keeps its connection would otherwise be refused for ever.
    onRequest: () => {
      if (auth.isUnsettled) look();
      return () => undefined;
    },
    metricsView: metricsView(values),
    ...(metrics === undefined ? {} : { metrics }),
    ...(attributes === undefined ? {} : { attributes }),
    ...(routes === undefined ? {} : { routes }),
    ...(upgrade === undefined ? {} : { upgrade }),
    ...(debug === undefined ? {} : { debug }),
    ...(limits === undefined ? {} : { limits }),
  });
  return server;
}
