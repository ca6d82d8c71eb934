/** Flags that several daemons have. */
export const serving = [
  '--secure-port=-1',
  '--secure-port=0',
  '--secure-port=65536',
  '--secure-port=x',
  '--bind-address=',
  '--bind-address=x',
  '--bind-address=010.0.0.1',
  '--tls-min-version=',
  '--tls-min-version=VersionTLS9',
  '--tls-min-version=VersionTLS13',
  '--tls-cipher-suites=',
  '--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA,X',
  '--tls-cert-file=$DIR/sa.pub',
  '--tls-private-key-file=$DIR/sa.key',
  '--tls-sni-cert-key=a',
  '--tls-sni-cert-key=a,b,c',
  '--tls-sni-cert-key=$DIR/none.crt,$DIR/none.key',
  '--http2-max-streams-per-connection=-1',
  '--http2-max-streams-per-connection=0',
].map((flag) => [flag]);

export const common = [
  ['--nosuch'],
  ['--v=x'],
  ['--v=-1'],
  ['--vmodule=a'],
  ['--vmodule=a=x'],
  ['--logging-format=xml'],
  ['--logging-format=json'],
  ['--logging-format='],
  ['--logging-format=json', '--vmodule=a=1'],
  ['--log-flush-frequency=-1s'],
  ['--log-flush-frequency=1'],
  ['--feature-gates=Nix=true'],
  ['--feature-gates=AllAlpha'],
  ['--feature-gates=AllAlpha=maybe'],
  ['--feature-gates=CSIMigration=false'],
  ['--show-hidden-metrics-for-version=1.20'],
  ['--show-hidden-metrics-for-version=1.23'],
  ['--allow-metric-labels=a=b'],
  ['--allow-metric-labels=a,b=c'],
  ['--disabled-metrics=x'],
  ['--profiling=maybe'],
];

export const requestHeaders = [
  ['--requestheader-allowed-names=,'],
  ['--requestheader-username-headers=,'],
  ['--requestheader-group-headers=a, ,b'],
  ['--requestheader-extra-headers-prefix=,x'],
];

export const numbers = (names: readonly string[], values: readonly string[]) =>
  names.flatMap((name) => values.map((value) => [`--${name}=${value}`]));

export const leader = [
  ['--leader-elect-lease-duration=0'],
  ['--leader-elect-lease-duration=5s'],
  ['--leader-elect-lease-duration=10s', '--leader-elect-renew-deadline=10s'],
  ['--leader-elect-renew-deadline=0'],
  ['--leader-elect-renew-deadline=2s', '--leader-elect-retry-period=2s'],
  ['--leader-elect-retry-period=0'],
  ['--leader-elect-retry-period=-1s'],
  ['--leader-elect-resource-lock=nix'],
  ['--leader-elect-resource-lock=endpoints'],
  ['--leader-elect-resource-name='],
  ['--leader-elect-resource-namespace='],
  ['--leader-elect-resource-name=', '--leader-elect-lease-duration=0', '--leader-elect-retry-period=0'],
];
