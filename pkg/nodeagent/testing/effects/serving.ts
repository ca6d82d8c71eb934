/** Effects of options of the agent's server. */
import { type Effects, seenIn, sees } from '#nodeagent/testing/effects/effect.js';
import { loopbackStatus, oldClient, reportedPort, reviews } from '#nodeagent/testing/effects/serving-sights.js';

const routes = (title: string) => seenIn('pkg/nodeagent/server/routes.test.ts', title);
const oneByOne = routes('handlers can be disabled one by one');
const requested = seenIn(
  'test/integration/nodeagent/tls-bootstrap.test.ts',
  'both certificates are requested, approved and used',
);

export const servingEffects: Effects = {
  address: { argument: '127.0.0.9', fields: { address: '127.0.0.9' }, proof: sees(0, loopbackStatus) },
  port: {
    argument: '7',
    fields: { port: 7 },
    proof: seenIn(
      'pkg/nodeagent/server/server.test.ts',
      'if the port is only preferred and in use, another one is used',
    ),
  },
  'read-only-port': {
    argument: '7',
    fields: { readOnlyPort: 7 },
    proof: routes('the read-only port only serves reads'),
  },
  'enable-server': { argument: 'false', fields: { enableServer: false }, proof: sees(0, reportedPort) },
  'contention-profiling': { argument: 'true', fields: { enableContentionProfiling: true }, proof: 'inert' },
  'enable-debugging-handlers': {
    argument: 'false',
    fields: { enableDebuggingHandlers: false },
    proof: routes('debugging paths are rejected if their handlers are disabled'),
  },
  'enable-profiling-handler': { argument: 'false', fields: { enableProfilingHandler: false }, proof: oneByOne },
  'enable-system-log-handler': { argument: 'false', fields: { enableSystemLogHandler: false }, proof: oneByOne },
  'enable-debug-flags-handler': { argument: 'false', fields: { enableDebugFlagsHandler: false }, proof: oneByOne },
  'healthz-bind-address': {
    argument: '127.0.0.9',
    fields: { healthzBindAddress: '127.0.0.9' },
    proof: seenIn(
      'pkg/cluster/node-agent/program.test.ts',
      'the health endpoint is where the options and fields put it',
    ),
  },
  'healthz-port': {
    argument: '7',
    fields: { healthzPort: 7 },
    proof: seenIn(
      'pkg/cluster/node-agent/program.test.ts',
      'the health endpoint is where the options and fields put it',
    ),
  },
  'anonymous-auth': {
    argument: 'false',
    fields: { authentication: { anonymous: { enabled: true } } },
    isOpposite: true,
    proof: routes('requests without credentials get 401 if anonymous access is off'),
  },
  'authentication-token-webhook': {
    argument: 'true',
    fields: { authentication: { webhook: { enabled: false } } },
    isOpposite: true,
    proof: sees(1, reviews('tokenreviews')),
  },
  'authentication-token-webhook-cache-ttl': {
    argument: '7s',
    with: ['--authentication-token-webhook'],
    fields: { authentication: { webhook: { cacheTTL: '7s' } } },
    proof: sees(2, reviews('tokenreviews')),
  },
  'authorization-mode': {
    argument: 'Webhook',
    fields: { authorization: { mode: 'AlwaysAllow' } },
    isOpposite: true,
    proof: sees(1, reviews('subjectaccessreviews')),
  },
  'authorization-webhook-cache-authorized-ttl': {
    argument: '7s',
    with: ['--authorization-mode=Webhook'],
    fields: { authorization: { webhook: { cacheAuthorizedTTL: '7s' } } },
    proof: sees(2, reviews('subjectaccessreviews')),
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    argument: '7s',
    with: ['--authorization-mode=Webhook'],
    fields: { authorization: { webhook: { cacheUnauthorizedTTL: '7s' } } },
    proof: sees(2, reviews('subjectaccessreviews', false)),
  },
  'client-ca-file': {
    argument: '/f',
    fields: { authentication: { x509: { clientCAFile: '/f' } } },
    proof: seenIn('pkg/daemon/serving/daemon-server.test.ts', 'client certificates and front proxies authenticate'),
  },
  'tls-cert-file': {
    argument: '/f',
    fields: { tlsCertFile: '/f' },
    proof: seenIn('pkg/daemon/serving/serving-certificate.test.ts', 'certificate files and their errors'),
  },
  'tls-private-key-file': {
    argument: '/f',
    fields: { tlsPrivateKeyFile: '/f' },
    proof: seenIn('pkg/daemon/serving/serving-certificate.test.ts', 'certificate files and their errors'),
  },
  'tls-cipher-suites': {
    argument: 'TLS_AES_128_GCM_SHA256',
    fields: { tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] },
    proof: seenIn(
      'pkg/daemon/serving/daemon-server.test.ts',
      'cipher suites apply up to TLS 1.2; TLS 1.3 starts with the cheapest suite',
    ),
  },
  'tls-min-version': {
    argument: 'VersionTLS13',
    fields: { tlsMinVersion: 'VersionTLS13' },
    proof: sees(/^ERR_SSL|ECONNRESET/, oldClient('TLSv1.2')),
  },
  'rotate-certificates': { argument: 'true', fields: { rotateCertificates: true }, proof: requested },
  'rotate-server-certificates': { argument: 'true', fields: { serverTLSBootstrap: true }, proof: requested },
  'streaming-connection-idle-timeout': {
    argument: '7s',
    fields: { streamingConnectionIdleTimeout: '7s' },
    proof: seenIn('pkg/nodeagent/server/sessions.test.ts', 'an idle session ends at the limit, with every protocol'),
  },
};
