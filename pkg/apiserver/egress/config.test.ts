import t from 'tap';
import { parseEgressConfig } from '#apiserver/egress/config.js';
import { OptionsError } from '#daemon/options/option.js';

const config = (...egressSelections: object[]) =>
  JSON.stringify({ kind: 'EgressSelectorConfiguration', egressSelections });
const one = (proxyProtocol: string, transport?: object) =>
  config({ name: 'cluster', connection: { proxyProtocol, ...(transport === undefined ? {} : { transport }) } });
const exists = (path: string) => path.startsWith('/there/');

function errorsOf(text: string): readonly string[] {
  try {
    parseEgressConfig(text, exists);
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

t.test('the connections of each name', async (t) => {
  const tlsConfig = { caBundle: '/there/ca', clientCert: '/there/cert', clientKey: '/there/key' };
  const text = config(
    { name: 'Etcd', connection: { proxyProtocol: 'Direct' } },
    { name: 'cluster', connection: { proxyProtocol: 'GRPC', transport: { uds: { udsName: '/run/k.sock' } } } },
    {
      name: 'master',
      connection: { proxyProtocol: 'HTTPConnect', transport: { tcp: { url: 'https://127.0.0.1:8131', tlsConfig } } },
    },
  );
  for (const version of ['v1alpha1', 'v1beta1']) {
    const versioned = text.replace('{', `{"apiVersion":"apiserver.example.org/${version}",`);
    t.same(
      [...parseEgressConfig(versioned, exists)],
      [
        ['etcd', { protocol: 'Direct' }],
        ['cluster', { protocol: 'GRPC', transport: 'uds', socket: '/run/k.sock' }],
        [
          'controlplane',
          { protocol: 'HTTPConnect', transport: 'tcp', url: new URL('https://127.0.0.1:8131'), tls: tlsConfig },
        ],
      ],
      version,
    );
  }
  t.same([...parseEgressConfig(config(), exists)], [], 'no selections');
  t.same(
    [...parseEgressConfig(one('HTTPConnect', { tcp: { url: 'http://127.0.0.1:1' } }), exists).values()],
    [{ protocol: 'HTTPConnect', transport: 'tcp', url: new URL('http://127.0.0.1:1') }],
  );
});

t.test("invalid configurations are refused in 1.24's words", async (t) => {
  const at = 'service.connection';
  const tls = (more: object) => one('HTTPConnect', { tcp: { url: 'https://a', tlsConfig: more } });
  const direct = { proxyProtocol: 'Direct' };
  const rows: [string, string, string[]][] = [
    ['another kind', '{"kind":"Pod"}', ['invalid service configuration object "Pod"']],
    [
      'an unknown field',
      one('Direct', undefined).replace('proxyProtocol', 'protocol'),
      ['unknown field "egressSelections[0].connection.protocol"'],
    ],
    [
      'no protocol',
      config({ name: 'cluster' }),
      [`${at}.protocol: Unsupported value: "": supported values: "Direct", "HTTPConnect", "GRPC"`],
    ],
    [
      'a transport for direct connections',
      one('Direct', { uds: {} }),
      [`${at}.transport: Invalid value: "direct": Transport config should be absent for direct connect`],
    ],
    ['no transport', one('HTTPConnect'), [`${at}.transport: Required value: transport must be set for HTTPConnect`]],
    ['an empty transport', one('HTTPConnect', {}), [`${at}.tcp: Required value: One of TCP or UDS must be set`]],
    [
      'two transports',
      one('HTTPConnect', { tcp: { url: 'http://a' }, uds: {} }),
      [`${at}.tcp: Invalid value: "http://a": TCP and UDS cannot both be set`],
    ],
    [
      'no socket',
      one('HTTPConnect', { uds: {} }),
      [`${at}.udsName: Invalid value: "nil": UDSName should be present for UDS connections`],
    ],
    ['gRPC without a transport', one('GRPC'), [`${at}.transport: Required value: transport must be set for GRPC`]],
    [
      'gRPC by TCP',
      one('GRPC', { tcp: { url: 'https://a' } }),
      [`${at}.uds: Required value: UDS must be set with GRPC`],
    ],
    [
      'another scheme',
      one('HTTPConnect', { tcp: { url: 'ftp://a' } }),
      [`${at}.url: Invalid value: "ftp://a": supported connection protocols are http:// and https://`],
    ],
    [
      'TLS with HTTP',
      one('HTTPConnect', { tcp: { url: 'http://a', tlsConfig: {} } }),
      [`${at}.tlsConfig: Invalid value: "nil": TLSConfig config should not be present when using HTTP`],
    ],
    [
      'HTTPS without TLS',
      one('HTTPConnect', { tcp: { url: 'https://a' } }),
      [`${at}.tlsConfig: Required value: TLSConfig must be present when using HTTPS`],
    ],
    [
      'no client certificate',
      tls({}),
      [
        `${at}.tlsConfig.clientCert: Invalid value: "nil": Using TLS requires clientCert`,
        `${at}.tlsConfig.clientKey: Invalid value: "nil": Using TLS requires requires clientKey`,
      ],
    ],
    [
      'missing files',
      tls({ caBundle: '/a', clientCert: '/b', clientKey: '/c' }),
      [
        `${at}.tlsConfig.caBundle: Invalid value: "/a": TLS config ca bundle does not exist`,
        `${at}.tlsConfig.clientCert: Invalid value: "/b": TLS client cert does not exist`,
        `${at}.tlsConfig.clientKey: Invalid value: "/c": TLS client key does not exist`,
      ],
    ],
    [
      'names',
      config(
        { name: 'master', connection: direct },
        { name: 'ControlPlane', connection: direct },
        { name: 'x', connection: direct },
      ),
      [
        `${at}[1]: Duplicate value: "controlplane"`,
        `${at}: Unsupported value: "x": supported values: "cluster", "controlplane", "etcd"`,
      ],
    ],
  ];
  for (const [name, text, expected] of rows) t.same(errorsOf(text), expected, name);
});
