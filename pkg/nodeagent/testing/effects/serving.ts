/** Effects of options of the agent's server. */
import { type Effects, gap, seenIn } from '#nodeagent/testing/effects/effect.js';

const routes = (title: string) => seenIn('pkg/nodeagent/server/routes.test.ts', title);
const oneByOne = routes('handlers can be disabled one by one');
const requested = seenIn(
  'test/integration/nodeagent/tls-bootstrap.test.ts',
  'both certificates are requested, approved and used',
);

export const servingEffects: Effects = {
  address: { argument: '127.0.0.9', fields: { address: '127.0.0.9' }, proof: gap('shutdown') },
  port: { argument: '7', fields: { port: 7 }, proof: gap('shutdown') },
  'read-only-port': {
    argument: '7',
    fields: { readOnlyPort: 7 },
    proof: routes('the read-only port only serves reads'),
  },
  'enable-server': { argument: 'false', fields: { enableServer: false }, proof: gap('shutdown') },
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
    proof: gap('shutdown'),
  },
  'healthz-port': { argument: '7', fields: { healthzPort: 7 }, proof: gap('shutdown') },
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
    proof: gap('shutdown'),
  },
  'authentication-token-webhook-cache-ttl': {
    argument: '7s',
    fields: { authentication: { webhook: { cacheTTL: '7s' } } },
    proof: gap('shutdown'),
  },
  'authorization-mode': {
    argument: 'Webhook',
    fields: { authorization: { mode: 'AlwaysAllow' } },
    isOpposite: true,
    proof: gap('shutdown'),
  },
  'authorization-webhook-cache-authorized-ttl': {
    argument: '7s',
    fields: { authorization: { webhook: { cacheAuthorizedTTL: '7s' } } },
    proof: gap('shutdown'),
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    argument: '7s',
    fields: { authorization: { webhook: { cacheUnauthorizedTTL: '7s' } } },
    proof: gap('shutdown'),
  },
  'client-ca-file': {
    argument: '/f',
    fields: { authentication: { x509: { clientCAFile: '/f' } } },
    proof: gap('shutdown'),
  },
  'tls-cert-file': { argument: '/f', fields: { tlsCertFile: '/f' }, proof: gap('shutdown') },
  'tls-private-key-file': { argument: '/f', fields: { tlsPrivateKeyFile: '/f' }, proof: gap('shutdown') },
  'tls-cipher-suites': {
    argument: 'TLS_AES_128_GCM_SHA256',
    fields: { tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] },
    proof: gap('shutdown'),
  },
  'tls-min-version': {
    argument: 'VersionTLS13',
    fields: { tlsMinVersion: 'VersionTLS13' },
    proof: gap('shutdown'),
  },
  'rotate-certificates': { argument: 'true', fields: { rotateCertificates: true }, proof: requested },
  'rotate-server-certificates': { argument: 'true', fields: { serverTLSBootstrap: true }, proof: requested },
  'streaming-connection-idle-timeout': {
    argument: '7s',
    fields: { streamingConnectionIdleTimeout: '7s' },
    proof: seenIn('pkg/nodeagent/server/sessions.test.ts', 'an idle session ends at the limit, with every protocol'),
  },
};
