import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { OptionsError } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { formatSchedulerConfig, schedulerConfig } from '#scheduler/options/config/format.js';
import { resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions } from '#scheduler/options/options.js';

const head = (version = 'v1beta3') =>
  `apiVersion: scheduler.config.orch.io/${version}\nkind: OrchSchedulerConfiguration\n`;

function resolve(text: string) {
  const table = schedulerOptions(dialect);
  const parsed = parseOptions(table, [], { program: 'x' });
  if (parsed.kind !== 'run') throw new Error('no run');
  return resolveScheduler(parsed, { table, dialect, file: { source: 'f', text } });
}

function errorsOf(extender: string): readonly string[] {
  try {
    resolve(`${head()}extenders: [${extender}]`);
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const whole = `extenders:
- urlPrefix: https://me:secret@racks.example.com/v1
  filterVerb: filter
  preemptVerb: preempt
  prioritizeVerb: rank
  weight: 3
  bindVerb: bind
  enableHTTPS: true
  tlsConfig:
    insecure: false
    serverName: other.example.com
    certFile: /cert
    keyData: ${base64('the key')}
    caData: ${base64('the authority')}
  httpTimeout: 1m30s
  nodeCacheCapable: true
  managedResources:
  - name: example.com/toys
    ignoredByScheduler: true
  - name: example.com/tools
  ignorable: true
- urlPrefix: http://plain
`;

t.test('reads every field', (t) => {
  for (const version of ['v1beta3', 'v1beta2']) {
    const { options, settings } = resolve(head(version) + whole);
    t.same(options.warnings, []);
    const [first, plain] = settings.extenders;
    t.match(first, {
      urlPrefix: 'https://me:secret@racks.example.com/v1',
      filterVerb: 'filter',
      preemptVerb: 'preempt',
      prioritizeVerb: 'rank',
      weight: 3,
      bindVerb: 'bind',
      enableHttps: true,
      tls: {
        insecure: false,
        serverName: 'other.example.com',
        certFile: '/cert',
        keyFile: undefined,
        keyData: 'the key',
        caData: 'the authority',
      },
      timeoutMs: 90_000,
      nodeCacheCapable: true,
      managedResources: [
        { name: 'example.com/toys', ignoredByScheduler: true },
        { name: 'example.com/tools', ignoredByScheduler: false },
      ],
      ignorable: true,
    });
    t.match(plain, { filterVerb: undefined, timeoutMs: 5000, nodeCacheCapable: false, managedResources: [] });
    const written = formatSchedulerConfig(options.values, settings, dialect);
    t.same(resolve(written).settings.extenders, settings.extenders, 'a written file reads back the same');
    const shown = JSON.stringify(schedulerConfig(options.values, settings, dialect));
    t.match(shown, /racks\.example\.com/);
    t.notMatch(shown, new RegExp(`secret|${base64('the key')}`), 'what is shown has no secrets');
  }
  t.end();
});

t.test('refuses invalid extenders', (t) => {
  const rows: [extender: string, want: RegExp][] = [
    ['{}', /extenders\[0\]\.urlPrefix: Required value/],
    ['{urlPrefix: host}', /extenders\[0\]\.urlPrefix: Invalid value: must be an http or https URL/],
    ['{urlPrefix: "ftp://host"}', /urlPrefix: Invalid value/],
    ['{urlPrefix: "http://h", httpTimeout: -1s}', /httpTimeout: Invalid value: "-1s": must not be negative/],
    ['{urlPrefix: "http://h", tlsConfig: {insecure: true, caFile: /ca}}', /insecure flag is not allowed/],
    ['{urlPrefix: "http://h", tlsConfig: {certFile: /cert}}', /a certificate and its key go together/],
    ['{urlPrefix: "http://h", tlsConfig: {caData: "-"}}', /tlsConfig\.caData: must be base64/],
  ];
  for (const [extender, want] of rows) t.match(errorsOf(extender).join(), want, extender);
  t.end();
});
