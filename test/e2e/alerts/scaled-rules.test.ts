import t from 'tap';
import { dialectByName } from '#apimachinery/dialect.js';
import { namesOf } from '#observe/names.js';
import { ruleFile } from '#observe/rules/rules.js';
import { scaledRules } from '#test/e2e/alerts/scaled-rules.js';

const scaled = (expr: string, patience?: string) => {
  const rule = { expr, labels: {}, ...(patience === undefined ? {} : { for: patience }) };
  return scaledRules({ groups: [{ name: 'g', rules: [rule] }] }, 60).groups[0]?.rules[0];
};

t.test('all that is waited for takes less, and nothing else changes', async (t) => {
  t.match(scaled('up{} == 0', '5m'), { for: '5000ms', expr: 'up{} == 0' });
  t.equal(scaled('rate(a{b="[5m]x"}[30m]) > 0.5')?.for, undefined);
  t.equal(scaled('rate(a{}[30m]) / rate(b{}[1h]) > 300')?.expr, 'rate(a{}[30000ms]) / rate(b{}[60000ms]) > 300');
  t.equal(
    scaled('predict_linear(a{x="y"}[4h], 4 * 3600) > 0 and a{} - time() < 3 * 86400')?.expr,
    'predict_linear(a{x="y"}[240000ms], 240) > 0 and a{} - time() < 3 * 86400',
  );
  t.throws(() => scaled('up{}', '1w'), RangeError);
});

t.test('our own rules', async (t) => {
  const rules = ruleFile(namesOf(dialectByName('orch')), { cluster: 'c', runbooks: 'r' });
  const text = JSON.stringify(scaledRules(rules, 60));
  t.same(text.match(/\[\d+[smhd]\]/g), null);
  t.same(text.match(/"for":"\d+[smhd]"/g), null);
  t.notMatch(text, /predict_linear\([^)]*\*/);
});
