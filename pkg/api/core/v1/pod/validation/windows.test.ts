import t from 'tap';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import { checkRules, type RuleRow } from '#api/testing/rule-table.js';
import { createFailures, type Draft, testContext, withField } from '#api/testing/strategy-table.js';

const base: Draft = { metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const options = (windowsOptions: object, ...failures: string[]): RuleRow => [
  'spec.securityContext',
  { windowsOptions },
  ...failures,
];
const ofContainer = 'spec.containers.0.securityContext';

const rows: RuleRow[] = [
  options({ gmsaCredentialSpecName: 'a.b', gmsaCredentialSpec: '{}', runAsUserName: 'DOMAIN\\User' }),
  options({ runAsUserName: 'a.example.com\\User' }),
  options(
    { gmsaCredentialSpecName: 'A' },
    `spec.securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
  ),
  options(
    { gmsaCredentialSpec: '' },
    'spec.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string',
  ),
  options(
    { runAsUserName: '' },
    'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string',
  ),
  options(
    { runAsUserName: 'a\u0007' },
    'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\a": runAsUserName cannot contain control characters',
  ),
  options(
    { runAsUserName: 'a\\b\\c' },
    'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
  ),
  options(
    { runAsUserName: '.a\\b' },
    `spec.securityContext.windowsOptions.runAsUserName: Invalid value: ".a\\\\b": runAsUserName's Domain doesn't match the NetBios nor the DNS format`,
  ),
  options(
    { runAsUserName: 'a\\' },
    `spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\": runAsUserName's User cannot be empty`,
  ),
  options(
    { runAsUserName: '. .' },
    `spec.securityContext.windowsOptions.runAsUserName: Invalid value: ". .": runAsUserName's User cannot contain only periods or spaces`,
  ),
  options(
    { runAsUserName: 'a@b' },
    `spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a@b": runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`,
  ),
  [
    ofContainer,
    { windowsOptions: { runAsUserName: '' } },
    'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string',
  ],
  [
    ofContainer,
    { windowsOptions: { hostProcess: true } },
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ],
  options(
    { hostProcess: true },
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ),
];

t.test('options of Windows', (t) => {
  checkRules(t, podStrategy, base, rows);
  const long = withField(base, 'spec.securityContext', {
    windowsOptions: {
      gmsaCredentialSpec: 'x'.repeat(65537),
      runAsUserName: `${'d'.repeat(256)}\\${'u'.repeat(105)}`,
    },
  });
  t.match(createFailures(podStrategy, long), [
    /size must be under 64 KiB$/,
    /Domain length must be under 256/,
    /doesn't match the NetBios/,
    /User length must not be longer than 104/,
  ]);
  t.end();
});

t.test('host process containers', (t) => {
  const hosted = withField(withField(base, 'spec.hostNetwork', true), 'spec.securityContext', {
    windowsOptions: { hostProcess: true },
  });
  const more: RuleRow[] = [
    [
      ofContainer,
      { windowsOptions: { hostProcess: false } },
      'spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true',
    ],
    ['spec.initContainers', [{ name: 'a', image: 'i' }]],
    ['spec.initContainers', [{ name: 'a', image: 'i', securityContext: { windowsOptions: { hostProcess: true } } }]],
  ];
  checkRules(t, podStrategy, hosted, more);
  t.match(createFailures(podStrategy, hosted, { ...testContext, allowPrivileged: false }), [
    'spec: Forbidden: hostProcess containers are disallowed by cluster policy',
  ]);
  const some = withField(withField(base, 'spec.hostNetwork', true), ofContainer, {
    windowsOptions: { hostProcess: true },
  });
  checkRules(t, podStrategy, some, [
    [
      'spec.initContainers',
      [{ name: 'a', image: 'i' }],
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    ],
  ]);
  t.end();
});
