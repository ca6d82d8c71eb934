import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { type Policy, policyOf } from '#apiserver/admission/podsecurity/policy/namespace-policy.js';
import {
  compareLevels,
  latestVersion,
  parseLevel,
  parseVersion,
  shownLevel,
} from '#apiserver/admission/podsecurity/standards/level.js';

const version = (text: string) => parseVersion(text) ?? latestVersion;
const defaults: Policy = {
  enforce: { level: 'baseline', version: version('v1.20') },
  audit: { level: 'privileged', version: latestVersion },
  warn: { level: 'restricted', version: version('v1.24') },
};

t.test('levels and versions', async (t) => {
  for (const level of ['privileged', 'baseline', 'restricted']) t.equal(parseLevel(level), level, level);
  for (const text of ['', 'Privileged', 'all']) t.equal(parseLevel(text), undefined, `level ${JSON.stringify(text)}`);
  for (const text of ['latest', 'v1.0', 'v1.24', 'v1.9223372036854775807'])
    t.equal(parseVersion(text)?.text, text, text);
  for (const text of ['', '1.24', 'v1', 'v1.', 'v1.01', 'v2.0', 'v1.24.0', 'v1.-1', 'Latest', 'v1.9223372036854775808'])
    t.equal(parseVersion(text), undefined, `version ${JSON.stringify(text)}`);
  t.ok(compareLevels('restricted', 'baseline') > 0, 'restricted is stricter than baseline');
  t.ok(compareLevels('privileged', 'baseline') < 0, 'privileged is less strict than baseline');
  t.equal(compareLevels('baseline', 'baseline'), 0, 'equal levels');
});

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`labels of namespaces: ${dialect.name}`, async (t) => {
    const prefix = `pod-security.${dialect.labelDomain}/`;
    const read = (labels?: Readonly<Record<string, string>>) => {
      const named = labels && Object.fromEntries(Object.entries(labels).map(([name, text]) => [prefix + name, text]));
      const { policy, failures } = policyOf(named, defaults, dialect);
      const modes = Object.fromEntries(Object.entries(policy).map(([mode, level]) => [mode, shownLevel(level)]));
      return { ...modes, failures: failures.map(({ field, message }) => `${field}: ${message}`) };
    };
    const usual = { enforce: 'baseline:v1.20', audit: 'privileged:latest', warn: 'restricted:v1.24', failures: [] };
    const level = 'must be one of privileged, baseline, restricted';
    const failure = (label: string, text: string, rule: string) =>
      `metadata.labels[${prefix}${label}]: Invalid value: "${text}": ${rule}`;
    t.same(read(), usual, 'no labels');
    t.same(read({}), usual, 'no labels of this feature');
    t.same(policyOf({ enforce: 'restricted' }, defaults, dialect).policy, defaults, 'labels without the prefix');
    t.same(read({ enforce: 'restricted' }), { ...usual, enforce: 'restricted:v1.20' }, 'a level keeps the version');
    t.same(
      read({ 'enforce-version': 'latest' }),
      { ...usual, enforce: 'baseline:latest' },
      'a version keeps the level',
    );
    t.same(
      read({
        enforce: 'privileged',
        audit: 'restricted',
        'audit-version': 'v1.3',
        warn: 'baseline',
        'warn-version': 'v1.2',
      }),
      { enforce: 'privileged:v1.20', audit: 'restricted:v1.3', warn: 'baseline:v1.2', failures: [] },
      'all modes',
    );
    t.same(
      read({
        enforce: 'x',
        'enforce-version': 'y',
        audit: '',
        'audit-version': 'v1',
        warn: 'X',
        'warn-version': 'v1.',
      }),
      {
        enforce: 'restricted:latest',
        audit: 'privileged:latest',
        warn: 'privileged:latest',
        failures: [
          failure('enforce', 'x', level),
          failure('enforce-version', 'y', 'must be "latest" or "v1.x"'),
          failure('audit', '', level),
          failure('audit-version', 'v1', 'must be "latest" or "v1.x"'),
          failure('warn', 'X', level),
          failure('warn-version', 'v1.', 'must be "latest" or "v1.x"'),
        ],
      },
      'invalid labels fail closed for enforce and open for the other modes',
    );
  });
}
